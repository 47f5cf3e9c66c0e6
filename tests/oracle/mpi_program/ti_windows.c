/* One-sided communication: windows with the numbers of the trace, their epochs and accesses. The
 * first word of each line is the window's number; the memory is the receive buffer. */
#include <stdlib.h>
#include <string.h>

#include "ti_exec.h"

/* Size of each rank's memory: sufficient for all tested accesses. */
#define WINDOW_BYTES ((MPI_Aint)1 << 28)

static MPI_Win window_of(const rank_t* me, const line_t* line) {
  const int number = integer(line, 2);
  if (number < 0 || number >= me->n_windows || me->windows[number] == MPI_WIN_NULL)
    fail(line, "there is no such window");
  return me->windows[number];
}

static void name_window(rank_t* me, const line_t* line, MPI_Win window) {
  const int number = integer(line, 2);
  if (number >= me->n_windows) {
    me->windows = realloc(me->windows, (number + 1) * sizeof *me->windows);
    while (me->n_windows <= number) me->windows[me->n_windows++] = MPI_WIN_NULL;
  }
  me->windows[number] = window;
}

static void do_create(rank_t* me, const line_t* line) {
  MPI_Win window;
  MPI_Win_create(incoming, WINDOW_BYTES, 1, MPI_INFO_NULL, me->comm, &window);
  name_window(me, line, window);
}

static void do_allocate(rank_t* me, const line_t* line) {
  MPI_Win window;
  void* memory;
  MPI_Win_allocate(WINDOW_BYTES, 1, MPI_INFO_NULL, me->comm, &memory, &window);
  name_window(me, line, window);
}

static void do_allocate_shared(rank_t* me, const line_t* line) {
  MPI_Win window;
  void* memory;
  MPI_Win_allocate_shared(WINDOW_BYTES, 1, MPI_INFO_NULL, me->comm, &memory, &window);
  name_window(me, line, window);
}

static void do_free(rank_t* me, const line_t* line) {
  MPI_Win window = window_of(me, line);
  me->windows[integer(line, 2)] = MPI_WIN_NULL;
  MPI_Win_free(&window);
}

static void do_fence(rank_t* me, const line_t* line) {
  int assertion = 0;
  for (int i = 3; i < line->n; i++)
    assertion |= strcmp(line->word[i], "noprecede") ? MPI_MODE_NOSUCCEED : MPI_MODE_NOPRECEDE;
  MPI_Win_fence(assertion, window_of(me, line));
}

static MPI_Group group_of(const rank_t* me, const line_t* line) {
  int* ranks = malloc(line->n * sizeof *ranks);
  for (int i = 3; i < line->n; i++) ranks[i - 3] = integer(line, i);
  MPI_Group all, group;
  MPI_Comm_group(me->comm, &all);
  MPI_Group_incl(all, line->n - 3, ranks, &group);
  free(ranks);
  return group;
}

static void do_post(rank_t* me, const line_t* line) {
  MPI_Win_post(group_of(me, line), 0, window_of(me, line));
}
static void do_start(rank_t* me, const line_t* line) {
  MPI_Win_start(group_of(me, line), 0, window_of(me, line));
}
static void do_complete(rank_t* me, const line_t* line) { MPI_Win_complete(window_of(me, line)); }
static void do_wait(rank_t* me, const line_t* line) { MPI_Win_wait(window_of(me, line)); }

static void do_lock(rank_t* me, const line_t* line) {
  MPI_Win_lock(strcmp(line->word[4], "shared") ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED,
               integer(line, 3), 0, window_of(me, line));
}
static void do_unlock(rank_t* me, const line_t* line) {
  MPI_Win_unlock(integer(line, 3), window_of(me, line));
}
static void do_lock_all(rank_t* me, const line_t* line) {
  MPI_Win_lock_all(0, window_of(me, line));
}
static void do_unlock_all(rank_t* me, const line_t* line) {
  MPI_Win_unlock_all(window_of(me, line));
}
static void do_flush(rank_t* me, const line_t* line) {
  MPI_Win_flush(integer(line, 3), window_of(me, line));
}
static void do_flush_local(rank_t* me, const line_t* line) {
  MPI_Win_flush_local(integer(line, 3), window_of(me, line));
}
static void do_flush_all(rank_t* me, const line_t* line) { MPI_Win_flush_all(window_of(me, line)); }
static void do_flush_local_all(rank_t* me, const line_t* line) {
  MPI_Win_flush_local_all(window_of(me, line));
}

/* window target count [type] */
typedef struct {
  int target, count;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Win window;
} access_t;

static access_t access_of(const rank_t* me, const line_t* line) {
  const int target = integer(line, 3);
  access_t a = {target == -666 ? MPI_PROC_NULL : target, integer(line, 4), type_of(me, line, 5),
                MPI_REPLACE, window_of(me, line)};
  return a;
}

static void do_put(rank_t* me, const line_t* line) {
  const access_t a = access_of(me, line);
  MPI_Put(outgoing, a.count, a.type, a.target, 0, a.count, a.type, a.window);
}
static void do_get(rank_t* me, const line_t* line) {
  const access_t a = access_of(me, line);
  MPI_Get(incoming, a.count, a.type, a.target, 0, a.count, a.type, a.window);
}
static void do_accumulate(rank_t* me, const line_t* line) {
  const access_t a = access_of(me, line);
  MPI_Accumulate(outgoing, a.count, a.type, a.target, 0, a.count, a.type, a.op, a.window);
}
static void do_get_accumulate(rank_t* me, const line_t* line) {
  const access_t a = access_of(me, line);
  MPI_Get_accumulate(outgoing, a.count, a.type, incoming, a.count, a.type, a.target, 0, a.count,
                     a.type, a.op, a.window);
}
static void do_fetch_and_op(rank_t* me, const line_t* line) {
  const access_t a = access_of(me, line);
  MPI_Fetch_and_op(outgoing, incoming, a.type, a.target, 0, a.op, a.window);
}
/* The compared values are zeros: nothing else is written to this memory. */
static void do_compare_and_swap(rank_t* me, const line_t* line) {
  const access_t a = access_of(me, line);
  MPI_Compare_and_swap(outgoing, outgoing, incoming, a.type, a.target, 0, a.window);
}

static void do_rput(rank_t* me, const line_t* line) {
  const access_t a = access_of(me, line);
  MPI_Request request;
  MPI_Rput(outgoing, a.count, a.type, a.target, 0, a.count, a.type, a.window, &request);
  remember(me, me->rank, a.target, 0, request);
}
static void do_rget(rank_t* me, const line_t* line) {
  const access_t a = access_of(me, line);
  MPI_Request request;
  MPI_Rget(incoming, a.count, a.type, a.target, 0, a.count, a.type, a.window, &request);
  remember(me, me->rank, a.target, 0, request);
}
static void do_raccumulate(rank_t* me, const line_t* line) {
  const access_t a = access_of(me, line);
  MPI_Request request;
  MPI_Raccumulate(outgoing, a.count, a.type, a.target, 0, a.count, a.type, a.op, a.window,
                  &request);
  remember(me, me->rank, a.target, 0, request);
}

const named_action_t window_actions[] = {{"accumulate", do_accumulate},
                                         {"compare_and_swap", do_compare_and_swap},
                                         {"fetch_and_op", do_fetch_and_op},
                                         {"get", do_get},
                                         {"get_accumulate", do_get_accumulate},
                                         {"put", do_put},
                                         {"raccumulate", do_raccumulate},
                                         {"rget", do_rget},
                                         {"rput", do_rput},
                                         {"win_allocate", do_allocate},
                                         {"win_allocate_shared", do_allocate_shared},
                                         {"win_complete", do_complete},
                                         {"win_create", do_create},
                                         {"win_fence", do_fence},
                                         {"win_flush", do_flush},
                                         {"win_flush_all", do_flush_all},
                                         {"win_flush_local", do_flush_local},
                                         {"win_flush_local_all", do_flush_local_all},
                                         {"win_free", do_free},
                                         {"win_lock", do_lock},
                                         {"win_lock_all", do_lock_all},
                                         {"win_post", do_post},
                                         {"win_start", do_start},
                                         {"win_unlock", do_unlock},
                                         {"win_unlock_all", do_unlock_all},
                                         {"win_wait", do_wait},
                                         {NULL, NULL}};
