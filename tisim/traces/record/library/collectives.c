/* Collectives. A count and its type are written as in the program if the type is a basic one of 1,
 * 2, 4, 8 or 16 bytes, otherwise as a number of bytes. */
#include <stdlib.h>

#include "record.h"

#define BYTE_TYPE 6
/* Upper bound of a collective's arguments other than its vectors. */
#define MOST_SCALARS 8

/* Arguments of a collective's line, in their order. The types of sent and received data come
 * last. */
enum {
  NEIGHBOURS = 1, /* the ranks that it sends to and receives from */
  SENT = 2,       /* one count */
  SENT_EACH = 4,  /* a count per rank or neighbour */
  RECEIVED = 8,
  RECEIVED_EACH = 16,
  ZERO = 32, /* instructions of a reduction, which are not recorded */
  ROOT = 64,
  SUMS = 128 /* before the counts per rank */
};
static const unsigned char layouts[] = {
    [TISIM_barrier] = 0,
    [TISIM_bcast] = SENT | ROOT,
    [TISIM_reduce] = SENT | ZERO | ROOT,
    [TISIM_allreduce] = SENT | ZERO,
    [TISIM_scan] = SENT | ZERO,
    [TISIM_exscan] = SENT | ZERO,
    [TISIM_reducescatter] = SENT_EACH | ZERO,
    [TISIM_gather] = SENT | RECEIVED | ROOT,
    [TISIM_scatter] = SENT | RECEIVED | ROOT,
    [TISIM_allgather] = SENT | RECEIVED,
    [TISIM_alltoall] = SENT | RECEIVED,
    [TISIM_gatherv] = SENT | RECEIVED_EACH | ROOT,
    [TISIM_scatterv] = SENT_EACH | RECEIVED | ROOT,
    [TISIM_allgatherv] = SENT | RECEIVED_EACH,
    [TISIM_alltoallv] = SENT_EACH | RECEIVED_EACH | SUMS,
    [TISIM_neighbor_allgather] = NEIGHBOURS | SENT | RECEIVED,
    [TISIM_neighbor_allgatherv] = NEIGHBOURS | SENT | RECEIVED_EACH,
    [TISIM_neighbor_alltoall] = NEIGHBOURS | SENT | RECEIVED,
    [TISIM_neighbor_alltoallv] = NEIGHBOURS | SENT_EACH | RECEIVED_EACH,
};

struct amount {
  int64_t unit; /* one of the program's elements in units of the trace's type */
  int64_t type;
};

static struct amount amount_of(const struct tisim_side* side) {
  struct amount amount = {0, BYTE_TYPE};
  int integers;
  int addresses;
  int types;
  int combiner;
  if (side->types != NULL || side->type == MPI_DATATYPE_NULL) return amount;
  const int64_t size = tisim_bytes(1, side->type);
  PMPI_Type_get_envelope(side->type, &integers, &addresses, &types, &combiner);
  amount.unit = size;
  if (combiner != MPI_COMBINER_NAMED) return amount;
  amount.unit = 1;
  switch (size) {
    case 1:
      break;
    case 2:
      amount.type = 3;
      break;
    case 4:
      amount.type = 1;
      break;
    case 8:
      amount.type = 0;
      break;
    case 16:
      amount.type = 14;
      break;
    default:
      amount.unit = size;
      break;
  }
  return amount;
}

static MPI_Datatype type_of(const struct tisim_side* side, int place) {
  if (side->types == NULL) return side->type;
  if (side->stride == sizeof(MPI_Datatype)) return ((const MPI_Datatype*)side->types)[place];
  return PMPI_Type_f2c(((const MPI_Fint*)side->types)[place]);
}

int64_t tisim_bytes_at(const struct tisim_side* side, int place) {
  return tisim_bytes(tisim_count(&side->counts, place), type_of(side, place));
}

/* The arguments of a call under construction. */
struct arguments {
  int64_t* values;
  size_t count;
};

static void put(struct arguments* arguments, int64_t value) {
  arguments->values[arguments->count++] = value;
}

static void put_count(struct arguments* arguments, const struct tisim_side* side, int place,
                      struct amount amount) {
  put(arguments, side->types == NULL ? tisim_count(&side->counts, place) * amount.unit
                                     : tisim_bytes_at(side, place));
}

/* If `swap` is 1, the two neighbours of each dimension are listed in reverse order. */
static void put_counts(struct arguments* arguments, const struct tisim_side* side, int places,
                       int swap, struct amount amount, bool has_sum) {
  int64_t* const sum = &arguments->values[arguments->count];
  if (has_sum) put(arguments, 0);
  for (int i = 0; i < places; ++i) put_count(arguments, side, i ^ swap, amount);
  for (int i = 1; has_sum && i <= places; ++i) *sum += sum[i];
}

/* Returns this rank's part of a side that covers all ranks. */
static struct tisim_side part_of(const struct tisim_side* side, int rank) {
  struct tisim_side part = *side;
  part.counts = tisim_same_count(tisim_count(&side->counts, rank));
  return part;
}

/* If the arguments of one side are not significant on a rank, those of the other are written twice;
 * but ranks other than the root do not know the counts of the other ranks. */
static void fill_sides(enum tisim_word word, struct tisim_side* sent, struct tisim_side* received,
                       int root, const struct tisim_comm* comm) {
  const bool gathers = word == TISIM_gather || word == TISIM_gatherv;
  const bool scatters = word == TISIM_scatter || word == TISIM_scatterv;
  if (gathers && comm->rank != root) {
    *received = *sent;
    if (word == TISIM_gatherv) received->counts = tisim_same_count(0);
  } else if (scatters && comm->rank != root) {
    *sent = *received;
    if (word == TISIM_scatterv) sent->counts = tisim_same_count(0);
  } else if (sent->buffer == MPI_IN_PLACE) {
    *sent = word == TISIM_alltoallv ? *received : part_of(received, comm->rank);
  } else if (scatters && received->buffer == MPI_IN_PLACE) {
    *received = part_of(sent, comm->rank);
  }
}

/* Returns the communicator of a call to write, or NULL. Collectives of one rank send nothing. */
static const struct tisim_comm* written_on(MPI_Comm comm, const struct tisim_posted* posted) {
  const struct tisim_comm* const on = tisim_comm_of(comm);
  const bool is_kept = posted != NULL && posted->is_persistent;
  return on == NULL || on->is_self || !(tisim_is_active() || is_kept) ? NULL : on;
}

static void write_call(enum tisim_word word, const struct arguments* arguments,
                       const struct tisim_comm* comm, const struct tisim_posted* posted) {
  if (posted != NULL && posted->is_persistent) {
    tisim_request_keep(posted->request, posted->variable, posted->word, comm->number, 0,
                       arguments->values, arguments->count);
    return;
  }
  struct tisim_named named = tisim_on(comm->number);
  if (posted != NULL) named.request = tisim_request_add(posted->request, posted->variable)->number;
  tisim_write(posted == NULL ? word : posted->word, arguments->values, arguments->count, &named,
              false);
}

/* Neighbourhoods. */

struct neighbours {
  int sources;
  int destinations;
  int* source; /* followed in memory by the destinations */
  int* destination;
  bool is_grid;
};

static bool make_room(struct neighbours* all, int sources, int destinations) {
  all->sources = sources;
  all->destinations = destinations;
  all->source = calloc((size_t)sources + (size_t)destinations + 1, sizeof *all->source);
  all->destination = all->source + sources;
  all->is_grid = false;
  return all->source != NULL;
}

/* Messages sent down a dimension arrive from above. So the neighbour above is listed first as a
 * source: if both are the same rank, its first message is the one that it sent down. */
static bool cartesian(MPI_Comm comm, struct neighbours* all) {
  int dimensions = 0;
  PMPI_Cartdim_get(comm, &dimensions);
  if (!make_room(all, 2 * dimensions, 2 * dimensions)) return false;
  all->is_grid = true;
  for (int i = 0; i < dimensions; ++i) {
    int* const below = &all->destination[2 * i];
    PMPI_Cart_shift(comm, i, 1, below, below + 1);
    all->source[2 * i] = below[1];
    all->source[2 * i + 1] = below[0];
  }
  return true;
}

static bool graph(MPI_Comm comm, struct neighbours* all) {
  int rank = 0;
  int count = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Graph_neighbors_count(comm, rank, &count);
  if (!make_room(all, count, count)) return false;
  PMPI_Graph_neighbors(comm, rank, count, all->source);
  PMPI_Graph_neighbors(comm, rank, count, all->destination);
  return true;
}

static bool distributed_graph(MPI_Comm comm, struct neighbours* all) {
  int in = 0;
  int out = 0;
  int weighted = 0;
  PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  int* const weights = calloc((size_t)in + (size_t)out + 1, sizeof *weights);
  if (weights == NULL || !make_room(all, in, out)) {
    free(weights);
    return false;
  }
  PMPI_Dist_graph_neighbors(comm, in, all->source, weights, out, all->destination, weights + in);
  free(weights);
  return true;
}

static bool find(MPI_Comm comm, struct neighbours* all) {
  int topology = MPI_UNDEFINED;
  PMPI_Topo_test(comm, &topology);
  if (topology == MPI_CART) return cartesian(comm, all);
  if (topology == MPI_GRAPH) return graph(comm, all);
  return topology == MPI_DIST_GRAPH && distributed_graph(comm, all);
}

struct tisim_degrees tisim_degrees_of(MPI_Comm comm) {
  struct neighbours all;
  struct tisim_degrees degrees = {0, 0};
  if (!find(comm, &all)) return degrees;
  degrees.in = all.sources;
  degrees.out = all.destinations;
  free(all.source);
  return degrees;
}

static void put_ranks(struct arguments* arguments, const int* ranks, int count) {
  put(arguments, count);
  for (int i = 0; i < count; ++i) {
    put(arguments, ranks[i] == MPI_PROC_NULL ? TISIM_NULL_RANK : ranks[i]);
  }
}

void tisim_after_collective(enum tisim_word word, struct tisim_side* sent,
                            struct tisim_side* received, int root, MPI_Comm comm,
                            const struct tisim_posted* posted) {
  if (tisim_write_intercomm_collective(word, sent, received, root, comm, posted)) return;
  const struct tisim_comm* const on = written_on(comm, posted);
  const int layout = layouts[word];
  if (on == NULL) return;
  struct neighbours near = {.sources = on->size, .destinations = on->size};
  if ((layout & NEIGHBOURS) != 0 && !find(comm, &near)) return;
  const size_t most = MOST_SCALARS + 2 * ((size_t)near.sources + (size_t)near.destinations);
  struct arguments arguments = {tisim_numbers(most), 0};
  if ((layout & NEIGHBOURS) != 0) {
    put_ranks(&arguments, near.destination, near.destinations);
    put_ranks(&arguments, near.source, near.sources);
  }
  if (received != NULL) fill_sides(word, sent, received, root, on);
  const struct amount out = sent == NULL ? (struct amount){0, 0} : amount_of(sent);
  const bool is_other = received != NULL && (received->type != sent->type || sent->types != NULL);
  const struct amount in = is_other ? amount_of(received) : out;
  if ((layout & SENT) != 0) put_count(&arguments, sent, 0, out);
  if ((layout & SENT_EACH) != 0) {
    put_counts(&arguments, sent, near.destinations, 0, out, (layout & SUMS) != 0);
  }
  if ((layout & RECEIVED) != 0) put_count(&arguments, received, 0, in);
  if ((layout & RECEIVED_EACH) != 0) {
    put_counts(&arguments, received, near.sources, near.is_grid, in, (layout & SUMS) != 0);
  }
  if ((layout & ZERO) != 0) put(&arguments, 0);
  if ((layout & ROOT) != 0) put(&arguments, root);
  if (sent != NULL) put(&arguments, out.type);
  if (received != NULL) put(&arguments, in.type);
  if ((layout & NEIGHBOURS) != 0) free(near.source);
  write_call(word, &arguments, on, posted);
}
