#include <stdlib.h>

#include "execute.h"

/* Traces lack the position of an access in a window: all are at its beginning. */
struct window {
  int number;
  MPI_Win handle;
  void* memory; /* of a window created from memory */
  struct window* next;
};

static struct window* windows;
/* Size of the largest access, which the memory of a dynamic window must fit. */
static int64_t largest;

static int number_of(const struct instruction* instruction) { return instruction->tag >> 8; }

/* Returns the link to the window with a number; it contains NULL if there is none. */
static struct window** find(int number) {
  struct window** link = &windows;
  while (*link != NULL && (*link)->number != number) link = &(*link)->next;
  return link;
}

static MPI_Win window_of(const struct instruction* instruction) {
  const struct window* const window = *find(number_of(instruction));
  if (window == NULL) fail("no window %d", number_of(instruction));
  return window->handle;
}

static void make_window(const struct instruction* instruction) {
  struct window* const made = memory_for(NULL, 1, sizeof *made);
  const MPI_Comm comm = communicator_of(instruction);
  MPI_Aint size = instruction->bytes;
  *made = (struct window){.number = number_of(instruction), .next = windows};
  windows = made;
  switch (instruction->operation) {
    case OPERATION_WIN_ALLOCATE:
      MPI_Win_allocate(size, 1, MPI_INFO_NULL, comm, &made->memory, &made->handle);
      made->memory = NULL;
      return;
    case OPERATION_WIN_ALLOCATE_SHARED:
      MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, comm, &made->memory, &made->handle);
      made->memory = NULL;
      return;
    case OPERATION_WIN_CREATE_DYNAMIC: /* accesses use addresses, which traces lack */
      PMPI_Allreduce(&largest, &size, 1, MPI_AINT, MPI_MAX, comm);
      break;
    default:
      break;
  }
  made->memory = calloc(1, (size_t)size + 1);
  if (made->memory == NULL) fail("no memory for a window of %ld bytes", (long)size);
  MPI_Win_create(made->memory, size, 1, MPI_INFO_NULL, comm, &made->handle);
}

static void free_window(struct window** link) {
  struct window* const freed = *link;
  MPI_Win_free(&freed->handle);
  *link = freed->next;
  free(freed->memory);
  free(freed);
}

static void begin_with_group(const struct instruction* instruction) {
  MPI_Group all;
  PMPI_Win_get_group(window_of(instruction), &all);
  MPI_Group group = group_among(all, instruction->numbers, instruction->count);
  if (instruction->operation == OPERATION_WIN_POST)
    MPI_Win_post(group, 0, window_of(instruction));
  else
    MPI_Win_start(group, 0, window_of(instruction));
  PMPI_Group_free(&group);
}

static void fence(const struct instruction* instruction) {
  enum { NO_PRECEDE = 1, NO_SUCCEED = 2 };
  const int assertion = ((instruction->bytes & NO_PRECEDE) != 0 ? MPI_MODE_NOPRECEDE : 0) |
                        ((instruction->bytes & NO_SUCCEED) != 0 ? MPI_MODE_NOSUCCEED : 0);
  MPI_Win_fence(assertion, window_of(instruction));
}

static void access_target(const struct instruction* instruction, int target, int count,
                          const void* data, void* buffer) {
  const MPI_Win window = window_of(instruction);
  const MPI_Datatype word = count >= 8 ? MPI_INT64_T : MPI_INT;
  MPI_Request* const request = next_handle();
#define DATA data, count, MPI_BYTE
#define BUFFER buffer, count, MPI_BYTE
#define TARGET target, 0, count, MPI_BYTE
  switch (instruction->operation) {
    case OPERATION_PUT:
      MPI_Put(DATA, TARGET, window);
      return;
    case OPERATION_RPUT:
      MPI_Rput(DATA, TARGET, window, request);
      return;
    case OPERATION_GET:
      MPI_Get(BUFFER, TARGET, window);
      return;
    case OPERATION_RGET:
      MPI_Rget(BUFFER, TARGET, window, request);
      return;
    case OPERATION_ACCUMULATE:
      MPI_Accumulate(DATA, TARGET, MPI_BOR, window);
      return;
    case OPERATION_RACCUMULATE:
      MPI_Raccumulate(DATA, TARGET, MPI_BOR, window, request);
      return;
    case OPERATION_GET_ACCUMULATE:
      MPI_Get_accumulate(DATA, BUFFER, TARGET, MPI_BOR, window);
      return;
    case OPERATION_RGET_ACCUMULATE:
      MPI_Rget_accumulate(DATA, BUFFER, TARGET, MPI_BOR, window, request);
      return;
    case OPERATION_FETCH_AND_OP:
      MPI_Fetch_and_op(data, buffer, word, target, 0, MPI_SUM, window);
      return;
    default:
      MPI_Compare_and_swap(data, data, buffer, word, target, 0, window);
  }
}

/* Fetches share a buffer that is never freed, since their end is unknown. */
static void access_window(const struct instruction* instruction) {
  const int64_t bytes = instruction->bytes;
  const int count = (int)bytes;
  const int target = instruction->peer == TRACE_PROC_NULL ? MPI_PROC_NULL : instruction->peer;
  const bool has_request = instruction->operation >= OPERATION_RPUT;
  if (bytes > largest) largest = bytes;
  const void* const data = send_buffer(bytes);
  static void* buffer; /* for all fetched data */
  static int64_t size;
  if (!program.rehearsing && size < largest)
    buffer = memory_for(buffer, (size_t)(size = largest), 1);
  if (!program.rehearsing) access_target(instruction, target, count, data, buffer);
  if (has_request) {
    add_request(&(struct request){.type = REQUEST_COLLECTIVE,
                                  .communicator = instruction->communicator,
                                  .number = -1,
                                  .persistent = -1});
  }
}

void call_window(const struct instruction* instruction) {
  const int operation = instruction->operation;
  if (operation >= OPERATION_PUT) {
    access_window(instruction);
    return;
  }
  if (program.rehearsing) return;
  switch (operation) {
    case OPERATION_WIN_CREATE:
    case OPERATION_WIN_ALLOCATE:
    case OPERATION_WIN_ALLOCATE_SHARED:
    case OPERATION_WIN_CREATE_DYNAMIC:
      make_window(instruction);
      return;
    case OPERATION_WIN_FREE:
      free_window(find(number_of(instruction)));
      return;
    case OPERATION_WIN_FENCE:
      fence(instruction);
      return;
    case OPERATION_WIN_POST:
    case OPERATION_WIN_START:
      begin_with_group(instruction);
      return;
    default:
      break;
  }
  const MPI_Win window = window_of(instruction);
  const int target = instruction->peer;
  switch (operation) {
    case OPERATION_WIN_COMPLETE:
      MPI_Win_complete(window);
      return;
    case OPERATION_WIN_WAIT:
      MPI_Win_wait(window);
      return;
    case OPERATION_WIN_LOCK:
      MPI_Win_lock(instruction->bytes != 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0,
                   window);
      return;
    case OPERATION_WIN_UNLOCK:
      MPI_Win_unlock(target, window);
      return;
    case OPERATION_WIN_LOCK_ALL:
      MPI_Win_lock_all(0, window);
      return;
    case OPERATION_WIN_UNLOCK_ALL:
      MPI_Win_unlock_all(window);
      return;
    case OPERATION_WIN_FLUSH:
      MPI_Win_flush(target, window);
      return;
    case OPERATION_WIN_FLUSH_LOCAL:
      MPI_Win_flush_local(target, window);
      return;
    case OPERATION_WIN_FLUSH_ALL:
      MPI_Win_flush_all(window);
      return;
    default:
      MPI_Win_flush_local_all(window);
  }
}

void free_windows(void) {
  if (program.rehearsing) return;
  while (windows != NULL) free_window(&windows);
}
