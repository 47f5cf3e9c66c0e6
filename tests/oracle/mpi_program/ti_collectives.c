/* Collectives. An `i` before the name makes an operation non-blocking: `request` is then not null,
 * and its request is pending under the tag that SimGrid gives it. */
#include <simgrid/barrier.h>
#include <stdlib.h>
#include <strings.h>

#include "ti_exec.h"

/* An arbitrary operation supported by the type: its result is not used. */
static MPI_Op op_of(MPI_Datatype type) { return type == MPI_BYTE ? MPI_BOR : MPI_SUM; }

/* `size` counts starting with word `first`, followed in memory by their displacements. */
static int* counts_at(const rank_t* me, const line_t* line, int first) {
  int* counts = malloc(2 * me->size * sizeof *counts);
  int sum = 0;
  for (int i = 0; i < me->size; i++) {
    counts[i] = integer(line, first + i);
    counts[me->size + i] = sum;
    sum += counts[i];
  }
  return counts;
}

static void barrier(rank_t* me, const line_t* line, MPI_Request* request) {
  (void)line;
  request ? MPI_Ibarrier(me->comm, request) : MPI_Barrier(me->comm);
}

static void bcast(rank_t* me, const line_t* line, MPI_Request* request) {
  const int count = integer(line, 2), root = root_of(line, 3);
  const MPI_Datatype type = type_of(me, line, 4);
  void* buffer = root == me->rank ? outgoing : incoming;
  request ? MPI_Ibcast(buffer, count, type, root, me->comm, request)
          : MPI_Bcast(buffer, count, type, root, me->comm);
}

static void reduce(rank_t* me, const line_t* line, MPI_Request* request) {
  const int count = integer(line, 2), root = root_of(line, 4);
  const MPI_Datatype type = type_of(me, line, 5);
  if (request)
    MPI_Ireduce(outgoing, incoming, count, type, op_of(type), root, me->comm, request);
  else
    MPI_Reduce(outgoing, incoming, count, type, op_of(type), root, me->comm);
  compute(number(line, 3));
}

typedef int (*reduction_t)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
typedef int (*ireduction_t)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*);

static void reduction(rank_t* me, const line_t* line, MPI_Request* request, reduction_t call,
                      ireduction_t icall) {
  const int count = integer(line, 2);
  const MPI_Datatype type = type_of(me, line, 4);
  if (request)
    icall(outgoing, incoming, count, type, op_of(type), me->comm, request);
  else
    call(outgoing, incoming, count, type, op_of(type), me->comm);
  compute(number(line, 3));
}

static void allreduce(rank_t* me, const line_t* line, MPI_Request* request) {
  reduction(me, line, request, MPI_Allreduce, MPI_Iallreduce);
}
static void scan(rank_t* me, const line_t* line, MPI_Request* request) {
  reduction(me, line, request, MPI_Scan, MPI_Iscan);
}
static void exscan(rank_t* me, const line_t* line, MPI_Request* request) {
  reduction(me, line, request, MPI_Exscan, MPI_Iexscan);
}

static void reducescatter(rank_t* me, const line_t* line, MPI_Request* request) {
  const MPI_Datatype type = type_of(me, line, 3 + me->size);
  int* counts = counts_at(me, line, 2);
  if (request)
    MPI_Ireduce_scatter(outgoing, incoming, counts, type, op_of(type), me->comm, request);
  else
    MPI_Reduce_scatter(outgoing, incoming, counts, type, op_of(type), me->comm);
  free(counts);
  compute(number(line, 2 + me->size));
}

typedef int (*exchange_t)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
typedef int (*iexchange_t)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm,
                           MPI_Request*);

static void exchange(rank_t* me, const line_t* line, MPI_Request* request, exchange_t call,
                     iexchange_t icall) {
  const int sent = integer(line, 2), received = integer(line, 3);
  const MPI_Datatype stype = type_of(me, line, 4), rtype = type_of(me, line, 5);
  if (request)
    icall(outgoing, sent, stype, incoming, received, rtype, me->comm, request);
  else
    call(outgoing, sent, stype, incoming, received, rtype, me->comm);
}

static void alltoall(rank_t* me, const line_t* line, MPI_Request* request) {
  exchange(me, line, request, MPI_Alltoall, MPI_Ialltoall);
}
static void allgather(rank_t* me, const line_t* line, MPI_Request* request) {
  exchange(me, line, request, MPI_Allgather, MPI_Iallgather);
}

typedef int (*rooted_t)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm);
typedef int (*irooted_t)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm,
                         MPI_Request*);

static void rooted(rank_t* me, const line_t* line, MPI_Request* request, rooted_t call,
                   irooted_t icall) {
  const int sent = integer(line, 2), received = integer(line, 3), root = root_of(line, 4);
  const MPI_Datatype stype = type_of(me, line, 5), rtype = type_of(me, line, 6);
  if (request)
    icall(outgoing, sent, stype, incoming, received, rtype, root, me->comm, request);
  else
    call(outgoing, sent, stype, incoming, received, rtype, root, me->comm);
}

static void gather(rank_t* me, const line_t* line, MPI_Request* request) {
  rooted(me, line, request, MPI_Gather, MPI_Igather);
}
static void scatter(rank_t* me, const line_t* line, MPI_Request* request) {
  rooted(me, line, request, MPI_Scatter, MPI_Iscatter);
}

static void gatherv(rank_t* me, const line_t* line, MPI_Request* request) {
  const int sent = integer(line, 2), root = root_of(line, 3 + me->size);
  const MPI_Datatype stype = type_of(me, line, 4 + me->size),
                     rtype = type_of(me, line, 5 + me->size);
  int *counts = counts_at(me, line, 3), *places = counts + me->size;
  if (request)
    MPI_Igatherv(outgoing, sent, stype, incoming, counts, places, rtype, root, me->comm, request);
  else
    MPI_Gatherv(outgoing, sent, stype, incoming, counts, places, rtype, root, me->comm);
  free(counts);
}

static void allgatherv(rank_t* me, const line_t* line, MPI_Request* request) {
  const int sent = integer(line, 2);
  const MPI_Datatype stype = type_of(me, line, 3 + me->size),
                     rtype = type_of(me, line, 4 + me->size);
  int *counts = counts_at(me, line, 3), *places = counts + me->size;
  if (request)
    MPI_Iallgatherv(outgoing, sent, stype, incoming, counts, places, rtype, me->comm, request);
  else
    MPI_Allgatherv(outgoing, sent, stype, incoming, counts, places, rtype, me->comm);
  free(counts);
}

static void scatterv(rank_t* me, const line_t* line, MPI_Request* request) {
  const int received = integer(line, 2 + me->size), root = root_of(line, 3 + me->size);
  const MPI_Datatype stype = type_of(me, line, 4 + me->size),
                     rtype = type_of(me, line, 5 + me->size);
  int *counts = counts_at(me, line, 2), *places = counts + me->size;
  if (request)
    MPI_Iscatterv(outgoing, counts, places, stype, incoming, received, rtype, root, me->comm,
                  request);
  else
    MPI_Scatterv(outgoing, counts, places, stype, incoming, received, rtype, root, me->comm);
  free(counts);
}

static void alltoallv(rank_t* me, const line_t* line, MPI_Request* request) {
  const MPI_Datatype stype = type_of(me, line, 4 + 2 * me->size),
                     rtype = type_of(me, line, 5 + 2 * me->size);
  int *sent = counts_at(me, line, 3), *sent_at = sent + me->size;
  int *received = counts_at(me, line, 4 + me->size), *received_at = received + me->size;
  if (request)
    MPI_Ialltoallv(outgoing, sent, sent_at, stype, incoming, received, received_at, rtype, me->comm,
                   request);
  else
    MPI_Alltoallv(outgoing, sent, sent_at, stype, incoming, received, received_at, rtype, me->comm);
  free(sent);
  free(received);
}

/* SimGrid's tags of non-blocking collectives, and whether `synchronised` affects the blocking one.
 */
static const struct {
  const char* name;
  void (*run)(rank_t*, const line_t*, MPI_Request*);
  int tag, synchronised;
} operations[] = {{"allgather", allgather, -557, 0},
                  {"allgatherv", allgatherv, -668, 0},
                  {"allreduce", allreduce, -4446, 0},
                  {"alltoall", alltoall, -1113, 0},
                  {"alltoallv", alltoallv, -1001, 0},
                  {"barrier", barrier, -779, 0},
                  {"bcast", bcast, -3335, 1},
                  {"exscan", exscan, -889, 1},
                  {"gather", gather, -446, 1},
                  {"gatherv", gatherv, -2224, 1},
                  {"reduce", reduce, -113, 1},
                  {"reducescatter", reducescatter, -890, 0},
                  {"scan", scan, -889, 1},
                  {"scatter", scatter, -224, 1},
                  {"scatterv", scatterv, -335, 1}};

/* Barrier of all ranks that takes no time. */
static void meet_all(void) {
  static sg_bar_t everybody;
  int ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (!everybody) everybody = sg_barrier_init(ranks);
  sg_barrier_wait(everybody);
}

static void run_operation(rank_t* me, const line_t* line, const char* name, MPI_Request* request) {
  size_t i = 0;
  while (strcasecmp(operations[i].name, name)) i++;
  if (me->synchronised && operations[i].synchronised && !request) meet_all();
  operations[i].run(me, line, request);
  if (request) remember(me, -333, -333, operations[i].tag, *request);
}

static void do_collective(rank_t* me, const line_t* line) {
  run_operation(me, line, line->word[1], NULL);
}

static void do_icollective(rank_t* me, const line_t* line) {
  MPI_Request request = MPI_REQUEST_NULL;
  run_operation(me, line, line->word[1] + 1, &request);
}

const named_action_t collective_actions[] = {{"allgather", do_collective},
                                             {"allgatherv", do_collective},
                                             {"allreduce", do_collective},
                                             {"alltoall", do_collective},
                                             {"alltoallv", do_collective},
                                             {"barrier", do_collective},
                                             {"bcast", do_collective},
                                             {"exscan", do_collective},
                                             {"gather", do_collective},
                                             {"gatherv", do_collective},
                                             {"reduce", do_collective},
                                             {"reducescatter", do_collective},
                                             {"scan", do_collective},
                                             {"scatter", do_collective},
                                             {"scatterv", do_collective},
                                             {"iallgather", do_icollective},
                                             {"iallgatherv", do_icollective},
                                             {"iallreduce", do_icollective},
                                             {"ialltoall", do_icollective},
                                             {"ialltoallv", do_icollective},
                                             {"ibarrier", do_icollective},
                                             {"ibcast", do_icollective},
                                             {"iexscan", do_icollective},
                                             {"igather", do_icollective},
                                             {"igatherv", do_icollective},
                                             {"ireduce", do_icollective},
                                             {"ireducescatter", do_icollective},
                                             {"iscan", do_icollective},
                                             {"iscatter", do_icollective},
                                             {"iscatterv", do_icollective},
                                             {NULL, NULL}};
