#include <limits.h>
#include <stdlib.h>

#include "execute.h"

/* A call with its buffers. Only reductions have typed elements; all other data are bytes. */
struct call {
  MPI_Comm communicator;
  int ranks, root;
  const void* out;
  void* in;
  int64_t in_bytes;
  int out_count, in_count; /* of one rank's part */
  MPI_Datatype type;       /* of a reduction's elements */
  MPI_Op reduction;
  int* counts; /* sent by rank, their places, received by rank, their places */
  int *out_counts, *out_places, *in_counts, *in_places;
};

/* Positions in the numbers of an instruction, as in tisim's script.hpp. For a neighbourhood
 * collective these precede the vectors. */
enum { RANKS, ROOT, SEND_COUNT, RECEIVE_COUNT, SEND_WIDTH, RECEIVE_WIDTH, VECTORS };

static int as_count(int64_t value) {
  if (value > INT_MAX)
    fail("a collective of %lld bytes per rank exceeds MPI's limit of 2^31-1", (long long)value);
  return (int)value;
}

/* Converts the counts of all ranks to units; returns the total bytes. */
static int64_t take_counts(const int64_t* numbers, int ranks, int64_t width, int64_t unit,
                           int* counts, int* places) {
  int64_t total = 0;
  for (int rank = 0; rank < ranks; rank++) {
    const int64_t bytes = numbers[rank] * width;
    counts[rank] = as_count(bytes / unit);
    places[rank] = as_count(total / unit);
    total += bytes;
  }
  return total;
}

/* Bytes of a reduction's element: as in the trace, or the largest width that divides its size. */
static int64_t element_width(const struct instruction* instruction) {
  const int64_t* const numbers = instruction->numbers;
  const int64_t width = numbers[SEND_WIDTH];
  if (width == 2 || width == 4 || width == 8) return width;
  for (int64_t unit = 8; unit > 1; unit /= 2) {
    bool divides = numbers[SEND_COUNT] * width % unit == 0;
    for (int64_t i = VECTORS; i < instruction->count; i++)
      divides = divides && numbers[i] * width % unit == 0;
    if (divides) return unit;
  }
  return 1;
}

static void choose_reduction(struct call* call, int64_t width) {
  call->type = width == 8 ? MPI_DOUBLE : width == 4 ? MPI_INT : width == 2 ? MPI_SHORT : MPI_BYTE;
  call->reduction = width == 1 ? MPI_BOR : MPI_SUM;
}

static bool is_root(const struct instruction* instruction) {
  if (program.rehearsing && instruction->communicator != 0) return false;
  return rank_in(instruction) == instruction->numbers[ROOT];
}

static void take_vectors(struct call* call, const struct instruction* instruction, int64_t unit,
                         int64_t* out_bytes, int64_t* in_bytes) {
  const int64_t* const numbers = instruction->numbers;
  const int ranks = call->ranks;
  const int64_t* next = numbers + VECTORS;
  call->counts = memory_for(NULL, (size_t)ranks * 4, sizeof *call->counts);
  call->out_counts = call->counts;
  call->out_places = call->counts + ranks;
  call->in_counts = call->counts + 2 * ranks;
  call->in_places = call->counts + 3 * ranks;
  const int operation = instruction->operation;
  if (operation == OPERATION_SCATTERV || operation == OPERATION_ALLTOALLV) {
    *out_bytes =
        take_counts(next, ranks, numbers[SEND_WIDTH], unit, call->out_counts, call->out_places);
    next += ranks;
  }
  if (operation != OPERATION_SCATTERV)
    *in_bytes =
        take_counts(next, ranks, numbers[RECEIVE_WIDTH], unit, call->in_counts, call->in_places);
}

/* The neighbours of one side, without null processes, and the bytes for each. */
struct side {
  int neighbours;
  int* ranks;
  int* counts;
  int* places;
  int64_t bytes;
};

/* `counts`: by neighbour; NULL: `count` for each. */
static struct side side_of(const int64_t* ranks, int64_t listed, const int64_t* counts,
                           int64_t count, int64_t width, int* storage) {
  struct side side = {.ranks = storage, .counts = storage + listed, .places = storage + 2 * listed};
  for (int64_t i = 0; i < listed; i++) {
    if (ranks[i] < 0) continue;
    const int64_t bytes = (counts == NULL ? count : counts[i]) * width;
    side.ranks[side.neighbours] = (int)ranks[i];
    side.counts[side.neighbours] = as_count(bytes);
    side.places[side.neighbours++] = as_count(side.bytes);
    side.bytes += bytes;
  }
  return side;
}

static void take_neighbours(struct call* call, const struct instruction* instruction,
                            int64_t* out_bytes, int64_t* in_bytes) {
  const int64_t* const numbers = instruction->numbers;
  const int64_t* const destinations = numbers + VECTORS + 1;
  const int64_t out = destinations[-1];
  const int64_t* const sources = destinations + out + 1;
  const int64_t in = sources[-1];
  const int64_t* counts = sources + in;
  const int operation = instruction->operation;
  const int64_t* out_counts = NULL;
  if (operation == OPERATION_NEIGHBOR_ALLTOALLV) {
    out_counts = counts;
    counts += out;
  }
  const int has_in_counts =
      operation == OPERATION_NEIGHBOR_ALLTOALLV || operation == OPERATION_NEIGHBOR_ALLGATHERV;
  call->counts = memory_for(NULL, (size_t)(out + in) * 3, sizeof *call->counts);
  const struct side to = side_of(destinations, out, out_counts, numbers[SEND_COUNT],
                                 numbers[SEND_WIDTH], call->counts);
  const struct side from =
      side_of(sources, in, has_in_counts ? counts : NULL, numbers[RECEIVE_COUNT],
              numbers[RECEIVE_WIDTH], call->counts + 3 * out);
  call->out_counts = to.counts;
  call->out_places = to.places;
  call->in_counts = from.counts;
  call->in_places = from.places;
  call->communicator =
      topology_of(instruction, to.neighbours, to.ranks, from.neighbours, from.ranks);
  const int gathers =
      operation == OPERATION_NEIGHBOR_ALLGATHER || operation == OPERATION_NEIGHBOR_ALLGATHERV;
  *out_bytes = gathers ? numbers[SEND_COUNT] * numbers[SEND_WIDTH] : to.bytes;
  *in_bytes = from.bytes;
}

static struct call call_of(const struct instruction* instruction) {
  const int64_t* const numbers = instruction->numbers;
  const int64_t sent = numbers[SEND_COUNT] * numbers[SEND_WIDTH];
  const int64_t received = numbers[RECEIVE_COUNT] * numbers[RECEIVE_WIDTH];
  struct call call = {.communicator = communicator_of(instruction),
                      .ranks = (int)numbers[RANKS],
                      .root = (int)numbers[ROOT],
                      .type = MPI_BYTE};
  const int64_t all = call.ranks;
  int64_t unit = 1, out = sent, in = received;
  switch (instruction->operation) {
    case OPERATION_BCAST:
      out = 0;
      in = sent;
      break;
    case OPERATION_REDUCE:
    case OPERATION_ALLREDUCE:
    case OPERATION_SCAN:
    case OPERATION_EXSCAN:
      unit = element_width(instruction);
      choose_reduction(&call, unit);
      in = sent;
      break;
    case OPERATION_REDUCESCATTER:
      unit = element_width(instruction);
      choose_reduction(&call, unit);
      take_vectors(&call, instruction, unit, &out, &in);
      out = in;
      break;
    case OPERATION_ALLTOALL:
      out = all * sent;
      in = all * received;
      break;
    case OPERATION_ALLGATHER:
      in = all * received;
      break;
    case OPERATION_GATHER:
      in = is_root(instruction) ? all * received : 0;
      break;
    case OPERATION_SCATTER:
      out = is_root(instruction) ? all * sent : 0;
      break;
    case OPERATION_GATHERV:
      take_vectors(&call, instruction, unit, &out, &in);
      if (!is_root(instruction)) in = 0;
      break;
    case OPERATION_SCATTERV:
      take_vectors(&call, instruction, unit, &out, &in);
      if (!is_root(instruction)) out = 0;
      break;
    case OPERATION_ALLGATHERV:
    case OPERATION_ALLTOALLV:
      take_vectors(&call, instruction, unit, &out, &in);
      break;
    case OPERATION_NEIGHBOR_ALLGATHER:
    case OPERATION_NEIGHBOR_ALLGATHERV:
    case OPERATION_NEIGHBOR_ALLTOALL:
    case OPERATION_NEIGHBOR_ALLTOALLV:
      take_neighbours(&call, instruction, &out, &in);
      break;
    default: /* a barrier */
      break;
  }
  call.out_count = as_count(sent / unit);
  call.in_count = as_count(received / unit);
  call.out = send_buffer(out);
  call.in = receive_buffer(in);
  call.in_bytes = in;
  return call;
}

/* `request`: NULL for a blocking call. */
static void call_mpi(int operation, const struct call* c, MPI_Request* request) {
/* Calls MPI_Bcast, or MPI_Ibcast if there is a request. */
#define CALL(OPERATION, NAME, SMALL_NAME, ...)                                  \
  case OPERATION_##OPERATION:                                                   \
    request == NULL ? MPI_##NAME(__VA_ARGS__, c->communicator)                  \
                    : MPI_I##SMALL_NAME(__VA_ARGS__, c->communicator, request); \
    return;
#define OUT c->out, c->out_count, MPI_BYTE
#define IN c->in, c->in_count, MPI_BYTE
#define OUT_PARTS c->out, c->out_counts, c->out_places, MPI_BYTE
#define IN_PARTS c->in, c->in_counts, c->in_places, MPI_BYTE
#define REDUCED c->out, c->in, c->out_count, c->type, c->reduction
  switch (operation) {
    case OPERATION_BARRIER:
      request == NULL ? MPI_Barrier(c->communicator) : MPI_Ibarrier(c->communicator, request);
      return;
      CALL(BCAST, Bcast, bcast, c->in, c->out_count, MPI_BYTE, c->root)
      CALL(REDUCE, Reduce, reduce, REDUCED, c->root)
      CALL(ALLREDUCE, Allreduce, allreduce, REDUCED)
      CALL(SCAN, Scan, scan, REDUCED)
      CALL(EXSCAN, Exscan, exscan, REDUCED)
      CALL(REDUCESCATTER, Reduce_scatter, reduce_scatter, c->out, c->in, c->in_counts, c->type,
           c->reduction)
      CALL(ALLTOALL, Alltoall, alltoall, OUT, IN)
      CALL(ALLTOALLV, Alltoallv, alltoallv, OUT_PARTS, IN_PARTS)
      CALL(GATHER, Gather, gather, OUT, IN, c->root)
      CALL(GATHERV, Gatherv, gatherv, OUT, IN_PARTS, c->root)
      CALL(SCATTER, Scatter, scatter, OUT, IN, c->root)
      CALL(SCATTERV, Scatterv, scatterv, OUT_PARTS, IN, c->root)
      CALL(ALLGATHER, Allgather, allgather, OUT, IN)
      CALL(ALLGATHERV, Allgatherv, allgatherv, OUT, IN_PARTS)
      CALL(NEIGHBOR_ALLGATHER, Neighbor_allgather, neighbor_allgather, OUT, IN)
      CALL(NEIGHBOR_ALLGATHERV, Neighbor_allgatherv, neighbor_allgatherv, OUT, IN_PARTS)
      CALL(NEIGHBOR_ALLTOALL, Neighbor_alltoall, neighbor_alltoall, OUT, IN)
      CALL(NEIGHBOR_ALLTOALLV, Neighbor_alltoallv, neighbor_alltoallv, OUT_PARTS, IN_PARTS)
    default:
      fail("the script has a collective number %d", operation);
  }
}

void call_collective(const struct instruction* instruction) {
  const struct call call = call_of(instruction);
  if (!traits_of(instruction)->makes_request) {
    if (!program.rehearsing) call_mpi(instruction->operation, &call, NULL);
    release_buffer(call.in, call.in_bytes);
    free(call.counts);
    return;
  }
  const struct request request = {.type = REQUEST_COLLECTIVE,
                                  .communicator = instruction->communicator,
                                  .tag = instruction->tag,
                                  .number = -1,
                                  .persistent = -1,
                                  .buffer = call.in,
                                  .bytes = call.in_bytes,
                                  .counts = call.counts};
  if (!program.rehearsing) call_mpi(instruction->operation, &call, next_handle());
  add_request(&request);
}
