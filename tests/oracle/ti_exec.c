/* Execute a time-independent trace with real MPI calls, inside SimGrid.
 *
 *   ti_exec DIR          rank r runs DIR/rank-<r>.txt (modern dialect)
 *
 * Compiled with smpicc and started by smpirun: SimGrid then simulates the very calls that the
 * trace names, with any collective selector. All ranks live in one address space (smpirun
 * -no-privatize), so nothing here is global except constants and the two message buffers.
 *
 * Rank r prints "rank <r> finish <seconds>" on standard output.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <simgrid/actor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

/* Contents do not matter, so every message of every rank is sent from one buffer and received
 * into the other; the pages are only reserved until somebody writes to them. */
#define BUFFER_BYTES ((size_t)1 << 36)
static void *outgoing, *incoming;

typedef struct {
  int src, dst, tag;
  MPI_Request request;
} pending_t;

/* What one rank knows. */
typedef struct {
  int rank, size;
  MPI_Datatype default_type;
  pending_t* pending; /* in the order of posting */
  int n_pending, capacity;
} rank_t;

/* One line: word[0] is the rank, word[1] the action. */
typedef struct {
  int n;
  char** word;
} line_t;

static double number(const line_t* line, int i)
{
  if (i >= line->n) {
    fprintf(stderr, "%s %s: argument %d is missing\n", line->word[0], line->word[1], i - 1);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  return atof(line->word[i]);
}

static int integer(const line_t* line, int i) { return (int)number(line, i); }
static int root_of(const line_t* line, int i) { return i < line->n ? integer(line, i) : 0; }

/* Types of the same width stand in for each other: only the number of bytes matters. */
static MPI_Datatype type_of(const rank_t* me, const line_t* line, int i)
{
  static const signed char width_of[60] = {8, 4, 1,  2, 8, 4, 1, 8,  1,  1, 2, 4, 8,  8, 16, 4, 1,  1, 2, 4,
                                           8, 1, 2,  4, 8, 8, 16, 32, 8, 8, 8, 16, 16, 8, 8,  8, 16, 16, 4, 4,
                                           8, 16, 8, 16, 16, 4, 2, 4, 8, 16, 32, 1, 8, 16, 32, 0, 0, 1, 8, 8};
  if (i >= line->n)
    return me->default_type;
  const int id = integer(line, i);
  if (id == 6)
    return MPI_BYTE;
  switch (id >= 0 && id < 60 ? width_of[id] : -1) {
    case 1: return MPI_CHAR;
    case 2: return MPI_SHORT;
    case 4: return MPI_INT;
    case 8: return MPI_DOUBLE;
    case 16: return MPI_DOUBLE_COMPLEX;
    default:
      fprintf(stderr, "no type of the width of id %d\n", id);
      MPI_Abort(MPI_COMM_WORLD, 2);
  }
  return MPI_BYTE;
}

/* Any operation that the type allows: its result is not used. */
static MPI_Op op_of(MPI_Datatype type) { return type == MPI_BYTE ? MPI_BOR : MPI_SUM; }

static int source(int rank) { return rank == -555 || rank == -333 ? MPI_ANY_SOURCE : rank; }
static int receive_tag(int tag) { return tag == -444 ? MPI_ANY_TAG : tag; }
static int destination(int rank) { return rank == -333 || rank == -666 ? MPI_PROC_NULL : rank; }

static void compute(double volume)
{
  if (volume > 0)
    smpi_execute_flops(volume);
}

/* -- Requests ----------------------------------------------------------------------------- */

static void remember(rank_t* me, int src, int dst, int tag, MPI_Request request)
{
  if (me->n_pending == me->capacity) {
    me->capacity = me->capacity ? 2 * me->capacity : 16;
    me->pending = realloc(me->pending, me->capacity * sizeof *me->pending);
  }
  me->pending[me->n_pending++] = (pending_t){src, dst, tag, request};
}

static void forget(rank_t* me, int i)
{
  me->n_pending--;
  memmove(me->pending + i, me->pending + i + 1, (me->n_pending - i) * sizeof *me->pending);
}

/* The oldest pending request of the key "src dst tag" of a line, or -1. */
static int find(const rank_t* me, const line_t* line)
{
  const int src = integer(line, 2), dst = integer(line, 3), tag = integer(line, 4);
  for (int i = 0; i < me->n_pending; i++)
    if (me->pending[i].src == src && me->pending[i].dst == dst && me->pending[i].tag == tag)
      return i;
  return -1;
}

static void do_wait(rank_t* me, const line_t* line)
{
  const int i = find(me, line);
  if (i >= 0) {
    MPI_Request request = me->pending[i].request;
    forget(me, i);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

static void do_test(rank_t* me, const line_t* line)
{
  const int i = find(me, line);
  int flag = 0;
  if (i >= 0) {
    MPI_Test(&me->pending[i].request, &flag, MPI_STATUS_IGNORE);
    if (flag)
      forget(me, i);
  }
}

static void do_waitall(rank_t* me, const line_t* line)
{
  (void)line;
  const int n = me->n_pending;
  MPI_Request* requests = malloc((n + 1) * sizeof *requests);
  for (int i = 0; i < n; i++)
    requests[i] = me->pending[i].request;
  me->n_pending = 0;
  MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
  free(requests);
}

/* -- Point to point ----------------------------------------------------------------------- */

static void do_send(rank_t* me, const line_t* line)
{
  MPI_Send(outgoing, integer(line, 4), type_of(me, line, 5), destination(integer(line, 2)), integer(line, 3),
           MPI_COMM_WORLD);
}

static void do_isend(rank_t* me, const line_t* line)
{
  MPI_Request request;
  MPI_Isend(outgoing, integer(line, 4), type_of(me, line, 5), destination(integer(line, 2)), integer(line, 3),
            MPI_COMM_WORLD, &request);
  remember(me, me->rank, integer(line, 2), integer(line, 3), request);
}

/* The count of a receive; a negative one is asked of the message itself. */
static int receive_count(const line_t* line, MPI_Datatype type)
{
  int count = integer(line, 4);
  if (count < 0) {
    MPI_Status status;
    MPI_Probe(source(integer(line, 2)), receive_tag(integer(line, 3)), MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, type, &count);
  }
  return count;
}

static void do_recv(rank_t* me, const line_t* line)
{
  const MPI_Datatype type = type_of(me, line, 5);
  const int count = receive_count(line, type);
  MPI_Recv(incoming, count, type, source(integer(line, 2)), receive_tag(integer(line, 3)), MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
}

static void do_irecv(rank_t* me, const line_t* line)
{
  const MPI_Datatype type = type_of(me, line, 5);
  const int count = receive_count(line, type);
  MPI_Request request;
  MPI_Irecv(incoming, count, type, source(integer(line, 2)), receive_tag(integer(line, 3)), MPI_COMM_WORLD,
            &request);
  remember(me, integer(line, 2), me->rank, integer(line, 3), request);
}

static void do_sendrecv(rank_t* me, const line_t* line)
{
  MPI_Sendrecv(outgoing, integer(line, 2), type_of(me, line, 6), destination(integer(line, 3)), 0, incoming,
               integer(line, 4), type_of(me, line, 7), source(integer(line, 5)), 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

/* -- Collectives --------------------------------------------------------------------------- */

static void do_barrier(rank_t* me, const line_t* line)
{
  (void)me, (void)line;
  MPI_Barrier(MPI_COMM_WORLD);
}

static void do_bcast(rank_t* me, const line_t* line)
{
  void* buffer = root_of(line, 3) == me->rank ? outgoing : incoming;
  MPI_Bcast(buffer, integer(line, 2), type_of(me, line, 4), root_of(line, 3), MPI_COMM_WORLD);
}

static void do_reduce(rank_t* me, const line_t* line)
{
  const MPI_Datatype type = type_of(me, line, 5);
  MPI_Reduce(outgoing, incoming, integer(line, 2), type, op_of(type), root_of(line, 4), MPI_COMM_WORLD);
  compute(number(line, 3));
}

typedef int (*reduction_t)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);

static void reduction(rank_t* me, const line_t* line, reduction_t call)
{
  const MPI_Datatype type = type_of(me, line, 4);
  call(outgoing, incoming, integer(line, 2), type, op_of(type), MPI_COMM_WORLD);
  compute(number(line, 3));
}

static void do_allreduce(rank_t* me, const line_t* line) { reduction(me, line, MPI_Allreduce); }
static void do_scan(rank_t* me, const line_t* line) { reduction(me, line, MPI_Scan); }
static void do_exscan(rank_t* me, const line_t* line) { reduction(me, line, MPI_Exscan); }

typedef int (*exchange_t)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);

static void exchange(rank_t* me, const line_t* line, exchange_t call)
{
  call(outgoing, integer(line, 2), type_of(me, line, 4), incoming, integer(line, 3), type_of(me, line, 5),
       MPI_COMM_WORLD);
}

static void do_alltoall(rank_t* me, const line_t* line) { exchange(me, line, MPI_Alltoall); }
static void do_allgather(rank_t* me, const line_t* line) { exchange(me, line, MPI_Allgather); }

typedef int (*rooted_t)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm);

static void rooted(rank_t* me, const line_t* line, rooted_t call)
{
  call(outgoing, integer(line, 2), type_of(me, line, 5), incoming, integer(line, 3), type_of(me, line, 6),
       root_of(line, 4), MPI_COMM_WORLD);
}

static void do_gather(rank_t* me, const line_t* line) { rooted(me, line, MPI_Gather); }
static void do_scatter(rank_t* me, const line_t* line) { rooted(me, line, MPI_Scatter); }

/* `size` counts from word `first` on, followed in memory by their displacements. */
static int* counts_at(const rank_t* me, const line_t* line, int first)
{
  int* counts = malloc(2 * me->size * sizeof *counts);
  int sum = 0;
  for (int i = 0; i < me->size; i++) {
    counts[i] = integer(line, first + i);
    counts[me->size + i] = sum;
    sum += counts[i];
  }
  return counts;
}

static void do_gatherv(rank_t* me, const line_t* line)
{
  int* counts = counts_at(me, line, 3);
  MPI_Gatherv(outgoing, integer(line, 2), type_of(me, line, 4 + me->size), incoming, counts, counts + me->size,
              type_of(me, line, 5 + me->size), root_of(line, 3 + me->size), MPI_COMM_WORLD);
  free(counts);
}

static void do_allgatherv(rank_t* me, const line_t* line)
{
  int* counts = counts_at(me, line, 3);
  MPI_Allgatherv(outgoing, integer(line, 2), type_of(me, line, 3 + me->size), incoming, counts,
                 counts + me->size, type_of(me, line, 4 + me->size), MPI_COMM_WORLD);
  free(counts);
}

static void do_scatterv(rank_t* me, const line_t* line)
{
  int* counts = counts_at(me, line, 2);
  MPI_Scatterv(outgoing, counts, counts + me->size, type_of(me, line, 4 + me->size), incoming,
               integer(line, 2 + me->size), type_of(me, line, 5 + me->size), root_of(line, 3 + me->size),
               MPI_COMM_WORLD);
  free(counts);
}

static void do_reducescatter(rank_t* me, const line_t* line)
{
  const MPI_Datatype type = type_of(me, line, 3 + me->size);
  int* counts = counts_at(me, line, 2);
  MPI_Reduce_scatter(outgoing, incoming, counts, type, op_of(type), MPI_COMM_WORLD);
  free(counts);
  compute(number(line, 2 + me->size));
}

static void do_alltoallv(rank_t* me, const line_t* line)
{
  int* sent = counts_at(me, line, 3);
  int* received = counts_at(me, line, 4 + me->size);
  MPI_Alltoallv(outgoing, sent, sent + me->size, type_of(me, line, 4 + 2 * me->size), incoming, received,
                received + me->size, type_of(me, line, 5 + 2 * me->size), MPI_COMM_WORLD);
  free(sent);
  free(received);
}

/* -- The rest ------------------------------------------------------------------------------ */

static void do_compute(rank_t* me, const line_t* line)
{
  (void)me;
  compute(number(line, 2));
}

static void do_sleep(rank_t* me, const line_t* line)
{
  (void)me;
  sg_actor_sleep_for(number(line, 2));
}

static void do_init(rank_t* me, const line_t* line) { me->default_type = line->n > 2 ? MPI_DOUBLE : MPI_BYTE; }
static void do_nothing(rank_t* me, const line_t* line) { (void)me, (void)line; }

static const struct {
  const char* name;
  void (*run)(rank_t*, const line_t*);
} actions[] = {
    {"allgather", do_allgather}, {"allgatherv", do_allgatherv}, {"allreduce", do_allreduce},
    {"alltoall", do_alltoall},   {"alltoallv", do_alltoallv},   {"barrier", do_barrier},
    {"bcast", do_bcast},         {"comm_dup", do_nothing},      {"comm_size", do_nothing},
    {"comm_split", do_nothing},  {"compute", do_compute},       {"exscan", do_exscan},
    {"finalize", do_nothing},    {"gather", do_gather},         {"gatherv", do_gatherv},
    {"init", do_init},           {"irecv", do_irecv},           {"isend", do_isend},
    {"location", do_nothing},    {"recv", do_recv},             {"reduce", do_reduce},
    {"reducescatter", do_reducescatter}, {"scan", do_scan},     {"scatter", do_scatter},
    {"scatterv", do_scatterv},   {"send", do_send},             {"sendrecv", do_sendrecv},
    {"sleep", do_sleep},         {"test", do_test},             {"wait", do_wait},
    {"waitall", do_waitall},
};

static void run_line(rank_t* me, const line_t* line)
{
  for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
    if (!strcasecmp(actions[i].name, line->word[1])) {
      actions[i].run(me, line);
      return;
    }
  fprintf(stderr, "rank %d: unknown action %s\n", me->rank, line->word[1]);
  MPI_Abort(MPI_COMM_WORLD, 4);
}

static void run_file(rank_t* me, FILE* file)
{
  char *text = NULL, *rest;
  char** words = NULL;
  size_t capacity = 0;
  while (getline(&text, &capacity, file) > 0) {
    line_t line = {0, words = realloc(words, (capacity / 2 + 2) * sizeof *words)};
    for (char* p = strtok_r(text, " \t\n", &rest); p; p = strtok_r(NULL, " \t\n", &rest))
      words[line.n++] = p;
    if (line.n >= 2 && words[0][0] != '#')
      run_line(me, &line);
  }
  free(words);
  free(text);
}

static void* reserve(void)
{
  void* space = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) {
    perror("mmap");
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  return space;
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  if (!outgoing) {
    outgoing = reserve();
    incoming = reserve();
  }
  rank_t me = {.default_type = MPI_BYTE};
  MPI_Comm_rank(MPI_COMM_WORLD, &me.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &me.size);
  char path[4096];
  snprintf(path, sizeof path, "%s/rank-%d.txt", argv[1], me.rank);
  FILE* file = fopen(path, "r");
  if (!file) {
    perror(path);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const double start = MPI_Wtime();
  run_file(&me, file);
  do_waitall(&me, NULL);
  printf("rank %d finish %.17g\n", me.rank, MPI_Wtime() - start);
  fclose(file);
  free(me.pending);
  MPI_Finalize();
  return 0;
}
