/* Collectives. A count and its type stand in the trace as in the program where the type is a basic
 * one of 1, 2, 4, 8 or 16 bytes, otherwise as a number of bytes. */
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
    case 1: amount.type = BYTE_TYPE; break;
    case 2: amount.type = 3; break;
    case 4: amount.type = 1; break;
    case 8: amount.type = 0; break;
    case 16: amount.type = 14; break;
    default: amount.unit = size; break;
  }
  return amount;
}

/* The arguments of a call while they are put together. */
struct arguments {
  int64_t *values;
  size_t count;
};

static struct arguments room_for(const struct tisim_comm *comm, int vectors) {
  const struct arguments arguments = {
      tisim_numbers(MOST_SCALARS + (size_t)vectors * (size_t)comm->size), 0};
  return arguments;
}

static void put(struct arguments *arguments, int64_t value) {
  arguments->values[arguments->count++] = value;
}

static void put_vector(struct arguments *arguments, struct tisim_counts counts, int64_t unit,
                       int size) {
  for (int i = 0; i < size; ++i) put(arguments, tisim_count(&counts, i) * unit);
}

/* The communicator of a call that is to be written. Collectives of one rank alone send nothing. */
static const struct tisim_comm *written_on(MPI_Comm comm) {
  const struct tisim_comm *const on = tisim_comm_of(comm);
  return on == NULL || on->is_self || !tisim_is_active() ? NULL : on;
}

static void write_call(enum tisim_word word, const struct arguments *arguments,
                       const struct tisim_comm *comm, const struct tisim_posted *posted) {
  struct tisim_named named = tisim_on(comm->number);
  if (posted != NULL) named.request = tisim_request_add(posted->request, posted->variable)->number;
  tisim_write(word, arguments->values, arguments->count, &named, false);
}

void tisim_after_barrier(enum tisim_word word, MPI_Comm comm, const struct tisim_posted *posted) {
  const struct tisim_comm *const on = written_on(comm);
  if (on == NULL) return;
  const struct arguments none = {NULL, 0};
  write_call(word, &none, on, posted);
}

void tisim_after_bcast(enum tisim_word word, MPI_Count count, MPI_Datatype type, int root,
                       MPI_Comm comm, const struct tisim_posted *posted) {
  const struct tisim_comm *const on = written_on(comm);
  if (on == NULL) return;
  const struct amount amount = amount_of(type);
  struct arguments arguments = room_for(on, 0);
  put(&arguments, count * amount.unit);
  put(&arguments, root);
  put(&arguments, amount.type);
  write_call(word, &arguments, on, posted);
}

void tisim_after_reduce(enum tisim_word word, MPI_Count count, MPI_Datatype type, int root,
                        MPI_Comm comm, const struct tisim_posted *posted) {
  const struct tisim_comm *const on = written_on(comm);
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
                           const struct tisim_posted *posted) {
  const struct tisim_comm *const on = written_on(comm);
  if (on == NULL) return;
  const struct amount amount = amount_of(type);
  struct arguments arguments = room_for(on, 0);
  put(&arguments, count * amount.unit);
  put(&arguments, 0);
  put(&arguments, amount.type);
  write_call(word, &arguments, on, posted);
}

void tisim_after_reducescatter(enum tisim_word word, struct tisim_counts counts,
                               MPI_Datatype type, MPI_Comm comm,
                               const struct tisim_posted *posted) {
  const struct tisim_comm *const on = written_on(comm);
  if (on == NULL) return;
  const struct amount amount = amount_of(type);
  struct arguments arguments = room_for(on, 1);
  put_vector(&arguments, counts, amount.unit, on->size);
  put(&arguments, 0);
  put(&arguments, amount.type);
  write_call(word, &arguments, on, posted);
}

void tisim_after_exchange(enum tisim_word word, const void *send_buffer, MPI_Count send_count,
                          MPI_Datatype send_type, const void *receive_buffer,
                          MPI_Count receive_count, MPI_Datatype receive_type, int root,
                          MPI_Comm comm, const struct tisim_posted *posted) {
  const struct tisim_comm *const on = written_on(comm);
  if (on == NULL) return;
  /* Where the arguments of one side have no meaning, those of the other are written twice. */
  const bool gathers = word == TISIM_gather || word == TISIM_igather;
  const bool scatters = word == TISIM_scatter || word == TISIM_iscatter;
  const bool only_sends = gathers && on->rank != root;
  const bool only_receives =
      send_buffer == MPI_IN_PLACE || (scatters && on->rank != root);
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

void tisim_after_gatherv(enum tisim_word word, const void *send_buffer, MPI_Count send_count,
                         MPI_Datatype send_type, struct tisim_counts counts, MPI_Datatype type,
                         int root, MPI_Comm comm, const struct tisim_posted *posted) {
  const struct tisim_comm *const on = written_on(comm);
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
                          const void *receive_buffer, MPI_Count receive_count,
                          MPI_Datatype receive_type, int root, MPI_Comm comm,
                          const struct tisim_posted *posted) {
  const struct tisim_comm *const on = written_on(comm);
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

void tisim_after_allgatherv(enum tisim_word word, const void *send_buffer, MPI_Count send_count,
                            MPI_Datatype send_type, struct tisim_counts counts, MPI_Datatype type,
                            MPI_Comm comm, const struct tisim_posted *posted) {
  const struct tisim_comm *const on = written_on(comm);
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

static int64_t sum(const struct arguments *arguments, size_t first) {
  int64_t total = 0;
  for (size_t i = first; i < arguments->count; ++i) total += arguments->values[i];
  return total;
}

void tisim_after_alltoallv(enum tisim_word word, const void *send_buffer,
                           struct tisim_counts send_counts, MPI_Datatype send_type,
                           struct tisim_counts counts, MPI_Datatype type, MPI_Comm comm,
                           const struct tisim_posted *posted) {
  const struct tisim_comm *const on = written_on(comm);
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

void tisim_after_alltoallw(enum tisim_word word, const void *send_buffer,
                           struct tisim_counts send_counts, const MPI_Datatype *send_types,
                           struct tisim_counts counts, const MPI_Datatype *types, MPI_Comm comm,
                           const struct tisim_posted *posted) {
  const struct tisim_comm *const on = written_on(comm);
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
