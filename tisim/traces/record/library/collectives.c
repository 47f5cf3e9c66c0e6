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

/* Collectives among the neighbours of a topology, written as messages: a trace has no action for
 * them. Their tags are above those that programs use. */

/* A neighbour, and the tag of the message to it or from it. */
struct neighbour {
  int rank;
  int tag;
};

struct neighbours {
  int sources;
  int destinations;
  struct neighbour* source; /* followed in memory by the destinations */
  struct neighbour* destination;
};

static bool make_room(struct neighbours* all, int sources, int destinations) {
  all->sources = sources;
  all->destinations = destinations;
  all->source = calloc((size_t)sources + (size_t)destinations + 1, sizeof *all->source);
  all->destination = all->source + sources;
  return all->source != NULL;
}

/* What goes down a dimension arrives from above: the message has the tag of its direction. */
static bool cartesian(MPI_Comm comm, struct neighbours* all) {
  int dimensions = 0;
  PMPI_Cartdim_get(comm, &dimensions);
  if (!make_room(all, 2 * dimensions, 2 * dimensions)) return false;
  for (int i = 0; i < dimensions; ++i) {
    int below = MPI_PROC_NULL;
    int above = MPI_PROC_NULL;
    PMPI_Cart_shift(comm, i, 1, &below, &above);
    const struct neighbour down = {below, TISIM_FIRST_TAG + 2 * i};
    const struct neighbour up = {above, TISIM_FIRST_TAG + 2 * i + 1};
    all->destination[2 * i] = down;
    all->destination[2 * i + 1] = up;
    all->source[2 * i].rank = below;
    all->source[2 * i].tag = up.tag;
    all->source[2 * i + 1].rank = above;
    all->source[2 * i + 1].tag = down.tag;
  }
  return true;
}

static void set(struct neighbour* neighbours, const int* ranks, int count) {
  for (int i = 0; i < count; ++i) {
    neighbours[i].rank = ranks[i];
    neighbours[i].tag = TISIM_FIRST_TAG;
  }
}

static bool graph(MPI_Comm comm, struct neighbours* all) {
  int rank = 0;
  int count = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Graph_neighbors_count(comm, rank, &count);
  int* const ranks = calloc((size_t)count + 1, sizeof *ranks);
  if (ranks == NULL || !make_room(all, count, count)) {
    free(ranks);
    return false;
  }
  PMPI_Graph_neighbors(comm, rank, count, ranks);
  set(all->source, ranks, count);
  set(all->destination, ranks, count);
  free(ranks);
  return true;
}

static bool distributed_graph(MPI_Comm comm, struct neighbours* all) {
  int in = 0;
  int out = 0;
  int weighted = 0;
  PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  /* Ranks and weights of both sides. */
  int* const ranks = calloc(2 * ((size_t)in + (size_t)out) + 1, sizeof *ranks);
  if (ranks == NULL || !make_room(all, in, out)) {
    free(ranks);
    return false;
  }
  int* const weights = ranks + in + out;
  PMPI_Dist_graph_neighbors(comm, in, ranks, weights, out, ranks + in, weights + in);
  set(all->source, ranks, in);
  set(all->destination, ranks + in, out);
  free(ranks);
  return true;
}

static bool find(MPI_Comm comm, struct neighbours* all) {
  int topology = MPI_UNDEFINED;
  PMPI_Topo_test(comm, &topology);
  if (topology == MPI_CART) return cartesian(comm, all);
  if (topology == MPI_GRAPH) return graph(comm, all);
  return topology == MPI_DIST_GRAPH && distributed_graph(comm, all);
}

static int64_t bytes_of(const struct tisim_side* side, int neighbour, size_t stride) {
  const int64_t count = tisim_count(&side->counts, neighbour);
  if (side->types == NULL) return tisim_bytes(count, side->type);
  if (stride == sizeof(MPI_Datatype)) {
    return tisim_bytes(count, ((const MPI_Datatype*)side->types)[neighbour]);
  }
  return tisim_bytes(count, PMPI_Type_f2c(((const MPI_Fint*)side->types)[neighbour]));
}

static void post(enum tisim_word word, const struct neighbour* neighbour, int64_t bytes,
                 const struct tisim_comm* comm, int64_t request) {
  const int64_t peer = neighbour->rank == MPI_PROC_NULL ? TISIM_NULL_RANK : neighbour->rank;
  const int64_t arguments[] = {peer, neighbour->tag, bytes};
  struct tisim_named named = tisim_on(comm->number);
  named.request = request;
  tisim_write(word, arguments, 3, &named, false);
}

static int64_t number_of(const struct tisim_request* request, int message) {
  return message == 0 ? request->number : request->more[message - 1];
}

void tisim_after_neighbours(struct tisim_side sent, struct tisim_side received, size_t stride,
                            MPI_Comm comm, const struct tisim_posted* posted) {
  const struct tisim_comm* const on = tisim_comm_of(comm);
  struct neighbours all;
  if (on == NULL || on->is_self || !tisim_is_active() || !find(comm, &all)) return;
  const int total = all.sources + all.destinations;
  struct tisim_request* const request =
      posted == NULL ? tisim_request_add_several(MPI_REQUEST_NULL, &all, (size_t)total)
                     : tisim_request_add_several(posted->request, posted->variable, (size_t)total);
  int message = 0;
  for (int i = 0; i < all.sources; ++i) {
    post(TISIM_irecv, &all.source[i], bytes_of(&received, i, stride), on,
         number_of(request, message++));
  }
  for (int i = 0; i < all.destinations; ++i) {
    post(TISIM_isend, &all.destination[i], bytes_of(&sent, i, stride), on,
         number_of(request, message++));
  }
  free(all.source);
  if (posted != NULL) return;
  if (total != 0) {
    struct tisim_named named = tisim_on(0);
    int64_t* const numbers = tisim_numbers((size_t)total);
    for (int i = 0; i < total; ++i) numbers[i] = number_of(request, i);
    named.requests = numbers;
    named.request_count = (size_t)total;
    tisim_write(TISIM_waitall, NULL, 0, &named, false);
  }
  tisim_request_done(request);
}
