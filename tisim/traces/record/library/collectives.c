/* Collectives. A count and its type stand in the trace as in the program where the type is a basic
 * one of 1, 2, 4, 8 or 16 bytes, otherwise as a number of bytes. */
#include <stdlib.h>

#include "record.h"

#define BYTE_TYPE 6
/* More arguments than any collective has beside its vectors. */
#define MOST_SCALARS 8

struct amount {
  int64_t unit; /* what one of the program's elements is in the trace's type */
  int64_t type;
};

static struct amount amount_of(MPI_Datatype type) {
  struct amount amount = {0, BYTE_TYPE};
  int integers;
  int addresses;
  int types;
  int combiner;
  if (type == MPI_DATATYPE_NULL) return amount;
  const int64_t size = tisim_bytes(1, type);
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  amount.unit = size;
  if (combiner != MPI_COMBINER_NAMED) return amount;
  amount.unit = 1;
  switch (size) {
    case 1:
      amount.type = BYTE_TYPE;
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

/* The arguments of a call while they are put together. */
struct arguments {
  int64_t* values;
  size_t count;
};

static struct arguments room_for(const struct tisim_comm* comm, int vectors) {
  const struct arguments arguments = {
      tisim_numbers(MOST_SCALARS + (size_t)vectors * (size_t)comm->size), 0};
  return arguments;
}

static void put(struct arguments* arguments, int64_t value) {
  arguments->values[arguments->count++] = value;
}

static void put_vector(struct arguments* arguments, struct tisim_counts counts, int64_t unit,
                       int size) {
  for (int i = 0; i < size; ++i) put(arguments, tisim_count(&counts, i) * unit);
}

/* The communicator of a call that is to be written. Collectives of one rank alone send nothing. */
static const struct tisim_comm* written_on(MPI_Comm comm, const struct tisim_posted* posted) {
  const struct tisim_comm* const on = tisim_comm_of(comm);
  const bool is_kept = posted != NULL && posted->is_persistent;
  return on == NULL || on->is_self || !(tisim_is_active() || is_kept) ? NULL : on;
}

static void write_call(enum tisim_word word, const struct arguments* arguments,
                       const struct tisim_comm* comm, const struct tisim_posted* posted) {
  if (posted != NULL && posted->is_persistent) {
    tisim_request_keep(posted->request, posted->variable, word, comm->number, 0, arguments->values,
                       arguments->count);
    return;
  }
  struct tisim_named named = tisim_on(comm->number);
  if (posted != NULL) named.request = tisim_request_add(posted->request, posted->variable)->number;
  tisim_write(word, arguments->values, arguments->count, &named, false);
}

void tisim_after_barrier(enum tisim_word word, MPI_Comm comm, const struct tisim_posted* posted) {
  if (tisim_barrier_between_groups(comm, posted)) return;
  const struct tisim_comm* const on = written_on(comm, posted);
  if (on == NULL) return;
  const struct arguments none = {NULL, 0};
  write_call(word, &none, on, posted);
}

void tisim_after_bcast(enum tisim_word word, MPI_Count count, MPI_Datatype type, int root,
                       MPI_Comm comm, const struct tisim_posted* posted) {
  if (tisim_bcast_between_groups(count, type, root, comm, posted)) return;
  const struct tisim_comm* const on = written_on(comm, posted);
  if (on == NULL) return;
  const struct amount amount = amount_of(type);
  struct arguments arguments = room_for(on, 0);
  put(&arguments, count * amount.unit);
  put(&arguments, root);
  put(&arguments, amount.type);
  write_call(word, &arguments, on, posted);
}

void tisim_after_reduce(enum tisim_word word, MPI_Count count, MPI_Datatype type, int root,
                        MPI_Comm comm, const struct tisim_posted* posted) {
  if (tisim_reduce_between_groups(count, type, root, comm, posted)) return;
  const struct tisim_comm* const on = written_on(comm, posted);
  if (on == NULL) return;
  const struct amount amount = amount_of(type);
  struct arguments arguments = room_for(on, 0);
  put(&arguments, count * amount.unit);
  put(&arguments, 0);
  put(&arguments, root);
  put(&arguments, amount.type);
  write_call(word, &arguments, on, posted);
}

void tisim_after_allreduce(enum tisim_word word, MPI_Count count, MPI_Datatype type, MPI_Comm comm,
                           const struct tisim_posted* posted) {
  if (tisim_allreduce_between_groups(count, type, comm, posted)) return;
  const struct tisim_comm* const on = written_on(comm, posted);
  if (on == NULL) return;
  const struct amount amount = amount_of(type);
  struct arguments arguments = room_for(on, 0);
  put(&arguments, count * amount.unit);
  put(&arguments, 0);
  put(&arguments, amount.type);
  write_call(word, &arguments, on, posted);
}

void tisim_after_reducescatter(enum tisim_word word, struct tisim_counts counts, MPI_Datatype type,
                               MPI_Comm comm, const struct tisim_posted* posted) {
  if (tisim_reducescatter_between_groups(counts, type, comm, posted)) return;
  const struct tisim_comm* const on = written_on(comm, posted);
  if (on == NULL) return;
  const struct amount amount = amount_of(type);
  struct arguments arguments = room_for(on, 1);
  put_vector(&arguments, counts, amount.unit, on->size);
  put(&arguments, 0);
  put(&arguments, amount.type);
  write_call(word, &arguments, on, posted);
}

void tisim_after_exchange(enum tisim_word word, const void* send_buffer, MPI_Count send_count,
                          MPI_Datatype send_type, const void* receive_buffer,
                          MPI_Count receive_count, MPI_Datatype receive_type, int root,
                          MPI_Comm comm, const struct tisim_posted* posted) {
  if (tisim_exchange_between_groups(word, send_count, send_type, receive_count, receive_type, root,
                                    comm, posted))
    return;
  const struct tisim_comm* const on = written_on(comm, posted);
  if (on == NULL) return;
  /* Where the arguments of one side have no meaning, those of the other are written twice. */
  const bool gathers = word == TISIM_gather || word == TISIM_igather;
  const bool scatters = word == TISIM_scatter || word == TISIM_iscatter;
  const bool only_sends = gathers && on->rank != root;
  const bool only_receives = send_buffer == MPI_IN_PLACE || (scatters && on->rank != root);
  const bool receives_in_place = scatters && receive_buffer == MPI_IN_PLACE;
  const struct amount sent = amount_of(only_receives ? receive_type : send_type);
  const struct amount received =
      amount_of(only_sends || receives_in_place ? send_type : receive_type);
  struct arguments arguments = room_for(on, 0);
  put(&arguments, (only_receives ? receive_count : send_count) * sent.unit);
  put(&arguments, (only_sends || receives_in_place ? send_count : receive_count) * received.unit);
  if (gathers || scatters) put(&arguments, root);
  put(&arguments, sent.type);
  put(&arguments, received.type);
  write_call(word, &arguments, on, posted);
}

void tisim_after_gatherv(enum tisim_word word, const void* send_buffer, MPI_Count send_count,
                         MPI_Datatype send_type, struct tisim_counts counts, MPI_Datatype type,
                         int root, MPI_Comm comm, const struct tisim_posted* posted) {
  if (tisim_gatherv_between_groups(send_count, send_type, counts, type, root, comm, posted)) return;
  const struct tisim_comm* const on = written_on(comm, posted);
  if (on == NULL) return;
  const bool is_root = on->rank == root;
  const bool in_place = is_root && send_buffer == MPI_IN_PLACE;
  const struct amount sent = amount_of(in_place ? type : send_type);
  const struct amount received = amount_of(is_root ? type : send_type);
  struct arguments arguments = room_for(on, 1);
  put(&arguments, (in_place ? tisim_count(&counts, on->rank) : send_count) * sent.unit);
  put_vector(&arguments, is_root ? counts : tisim_same_count(0), received.unit, on->size);
  put(&arguments, root);
  put(&arguments, sent.type);
  put(&arguments, received.type);
  write_call(word, &arguments, on, posted);
}

void tisim_after_scatterv(enum tisim_word word, struct tisim_counts counts, MPI_Datatype type,
                          const void* receive_buffer, MPI_Count receive_count,
                          MPI_Datatype receive_type, int root, MPI_Comm comm,
                          const struct tisim_posted* posted) {
  if (tisim_scatterv_between_groups(counts, type, receive_count, receive_type, root, comm, posted))
    return;
  const struct tisim_comm* const on = written_on(comm, posted);
  if (on == NULL) return;
  const bool is_root = on->rank == root;
  const bool in_place = is_root && receive_buffer == MPI_IN_PLACE;
  const struct amount sent = amount_of(is_root ? type : receive_type);
  const struct amount received = amount_of(in_place ? type : receive_type);
  struct arguments arguments = room_for(on, 1);
  put_vector(&arguments, is_root ? counts : tisim_same_count(0), sent.unit, on->size);
  put(&arguments, (in_place ? tisim_count(&counts, on->rank) : receive_count) * received.unit);
  put(&arguments, root);
  put(&arguments, sent.type);
  put(&arguments, received.type);
  write_call(word, &arguments, on, posted);
}

void tisim_after_allgatherv(enum tisim_word word, const void* send_buffer, MPI_Count send_count,
                            MPI_Datatype send_type, struct tisim_counts counts, MPI_Datatype type,
                            MPI_Comm comm, const struct tisim_posted* posted) {
  if (tisim_allgatherv_between_groups(send_count, send_type, counts, type, comm, posted)) return;
  const struct tisim_comm* const on = written_on(comm, posted);
  if (on == NULL) return;
  const bool in_place = send_buffer == MPI_IN_PLACE;
  const struct amount received = amount_of(type);
  const struct amount sent = in_place ? received : amount_of(send_type);
  struct arguments arguments = room_for(on, 1);
  put(&arguments, (in_place ? tisim_count(&counts, on->rank) : send_count) * sent.unit);
  put_vector(&arguments, counts, received.unit, on->size);
  put(&arguments, sent.type);
  put(&arguments, received.type);
  write_call(word, &arguments, on, posted);
}

static int64_t sum(const struct arguments* arguments, size_t first) {
  int64_t total = 0;
  for (size_t i = first; i < arguments->count; ++i) total += arguments->values[i];
  return total;
}

void tisim_after_alltoallv(enum tisim_word word, const void* send_buffer,
                           struct tisim_counts send_counts, MPI_Datatype send_type,
                           struct tisim_counts counts, MPI_Datatype type, MPI_Comm comm,
                           const struct tisim_posted* posted) {
  if (tisim_alltoallv_between_groups(send_counts, send_type, counts, type, comm, posted)) return;
  const struct tisim_comm* const on = written_on(comm, posted);
  if (on == NULL) return;
  const bool in_place = send_buffer == MPI_IN_PLACE;
  const struct amount received = amount_of(type);
  const struct amount sent = in_place ? received : amount_of(send_type);
  struct arguments arguments = room_for(on, 2);
  put(&arguments, 0);
  put_vector(&arguments, in_place ? counts : send_counts, sent.unit, on->size);
  arguments.values[0] = sum(&arguments, 1);
  const size_t buffer = arguments.count;
  put(&arguments, 0);
  put_vector(&arguments, counts, received.unit, on->size);
  arguments.values[buffer] = sum(&arguments, buffer + 1);
  put(&arguments, sent.type);
  put(&arguments, received.type);
  write_call(word, &arguments, on, posted);
}

void tisim_after_alltoallw(enum tisim_word word, const void* send_buffer,
                           struct tisim_counts send_counts, const MPI_Datatype* send_types,
                           struct tisim_counts counts, const MPI_Datatype* types, MPI_Comm comm,
                           const struct tisim_posted* posted) {
  if (tisim_alltoallw_between_groups(send_counts, send_types, counts, types, comm, posted)) return;
  const struct tisim_comm* const on = written_on(comm, posted);
  if (on == NULL) return;
  const bool in_place = send_buffer == MPI_IN_PLACE;
  struct arguments arguments = room_for(on, 2);
  for (int side = 0; side < 2; ++side) {
    const bool receives = side == 1 || in_place;
    const size_t buffer = arguments.count;
    put(&arguments, 0);
    for (int i = 0; i < on->size; ++i) {
      put(&arguments, receives ? tisim_bytes(tisim_count(&counts, i), types[i])
                               : tisim_bytes(tisim_count(&send_counts, i), send_types[i]));
    }
    arguments.values[buffer] = sum(&arguments, buffer + 1);
  }
  put(&arguments, BYTE_TYPE);
  put(&arguments, BYTE_TYPE);
  write_call(word, &arguments, on, posted);
}

/* Neighbourhood collectives. */

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
 * source: where both are one rank, its first message is the one that it sent down. */
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

static int64_t bytes_of(const struct tisim_side* side, int neighbour, size_t stride) {
  const int64_t count = tisim_count(&side->counts, neighbour);
  if (stride == sizeof(MPI_Datatype)) {
    return tisim_bytes(count, ((const MPI_Datatype*)side->types)[neighbour]);
  }
  return tisim_bytes(count, PMPI_Type_f2c(((const MPI_Fint*)side->types)[neighbour]));
}

/* `swap`: 1: the neighbours of each dimension are listed the other way round. */
static void put_counts(struct arguments* arguments, const struct tisim_side* side,
                       struct amount amount, int neighbours, int swap, size_t stride) {
  for (int i = 0; i < neighbours; ++i) {
    put(arguments, side->types == NULL ? tisim_count(&side->counts, i ^ swap) * amount.unit
                                       : bytes_of(side, i ^ swap, stride));
  }
}

void tisim_after_neighbours(enum tisim_word word, struct tisim_side sent,
                            struct tisim_side received, size_t stride, MPI_Comm comm,
                            const struct tisim_posted* posted) {
  const struct tisim_comm* const on = written_on(comm, posted);
  struct neighbours all;
  if (on == NULL || !find(comm, &all)) return;
  const struct amount bytes = {1, BYTE_TYPE};
  const struct amount out = sent.types == NULL ? amount_of(sent.type) : bytes;
  const struct amount in = received.types == NULL ? amount_of(received.type) : bytes;
  const size_t neighbours = (size_t)all.sources + (size_t)all.destinations;
  struct arguments arguments = {tisim_numbers(MOST_SCALARS + 2 * neighbours), 0};
  put_ranks(&arguments, all.destination, all.destinations);
  put_ranks(&arguments, all.source, all.sources);
  put_counts(&arguments, &sent, out, sent.is_one ? 1 : all.destinations, 0, stride);
  put_counts(&arguments, &received, in, received.is_one ? 1 : all.sources,
             all.is_grid && !received.is_one, stride);
  free(all.source);
  put(&arguments, out.type);
  put(&arguments, in.type);
  write_call(word, &arguments, on, posted);
}
