/* Collectives on intercommunicators, as MPI libraries implement them: collectives in a group, and
 * messages between the first ranks of the groups, their leaders. In non-blocking ones, each rank
 * exchanges messages with all ranks of the other group with which it shares data.
 *
 * Open MPI implements all of them this way; MPICH differs in barriers (two broadcasts of a byte),
 * in gathers and scatters of more than 2 KiB per rank (messages between the root and each rank) and
 * in reduce-scatters (two local ones and an exchange). */
#include <stdlib.h>

#include "record.h"

#define BYTES 6 /* a datatype of the trace */

/* Both groups from the view of one rank. */
struct groups {
  const struct tisim_comm* both;
  const struct tisim_comm* own;
  MPI_Comm local; /* communicator of the own group */
  int remote_size;
  int remote_leader; /* in `both` */
};

static struct groups groups_of(MPI_Comm comm) {
  struct groups groups = {.both = tisim_comm_of_messages(comm)};
  groups.own = tisim_group_of(comm, &groups.local);
  groups.remote_leader = groups.both->remote_first;
  groups.remote_size = groups.both->size - groups.own->size;
  return groups;
}

static bool is_leader(const struct groups* groups) { return groups->own->rank == 0; }

/* Messages. */

static void write_message(enum tisim_word word, const struct groups* groups, int64_t peer,
                          int64_t bytes, int64_t request) {
  const int64_t arguments[] = {peer, TISIM_FIRST_TAG, bytes};
  struct tisim_named named = tisim_on(groups->both->number);
  named.request = request;
  tisim_write(word, arguments, 3, &named, false);
}

static void send_to(const struct groups* groups, int64_t peer, int64_t bytes) {
  write_message(TISIM_send, groups, peer, bytes, -1);
}

static void receive_from(const struct groups* groups, int64_t peer, int64_t bytes) {
  write_message(TISIM_recv, groups, peer, bytes, -1);
}

/* Exchanges messages with some ranks of the other group concurrently. Zero bytes make no message,
 * unless there is only one rank. */
static void exchange_with(const struct groups* groups, int ranks, const int64_t* sent,
                          const int64_t* received) {
  struct tisim_request* const all =
      tisim_request_add_several(MPI_REQUEST_NULL, &groups, 2 * (size_t)ranks);
  int64_t* const numbers = malloc(2 * (size_t)ranks * sizeof *numbers);
  size_t count = 0;
  for (int i = 0; i < ranks && numbers != NULL; ++i) {
    for (int side = 0; side < 2; ++side) {
      const int64_t bytes = side == 0 ? received[i] : sent[i];
      if (bytes == 0 && ranks > 1) continue;
      numbers[count] = count == 0 ? all->number : all->more[count - 1];
      write_message(side == 0 ? TISIM_irecv : TISIM_isend, groups, groups->remote_leader + i, bytes,
                    numbers[count]);
      ++count;
    }
  }
  struct tisim_named named = tisim_on(0);
  named.requests = numbers;
  named.request_count = count;
  if (count != 0) tisim_write(TISIM_waitall, NULL, 0, &named, false);
  free(numbers);
  tisim_request_done(all);
}

static void exchange_with_all(const struct groups* groups, const struct tisim_side* sent,
                              const struct tisim_side* received) {
  const int size = groups->remote_size;
  int64_t* const bytes = calloc(2 * (size_t)size, sizeof *bytes);
  if (bytes == NULL) return;
  for (int i = 0; i < size; ++i) {
    bytes[i] = tisim_bytes_at(sent, i);
    bytes[size + i] = tisim_bytes_at(received, i);
  }
  exchange_with(groups, size, bytes, bytes + size);
  free(bytes);
}

static void exchange_of_leaders(const struct groups* groups, int64_t sent, int64_t received) {
  if (is_leader(groups)) exchange_with(groups, 1, &sent, &received);
}

/* Collectives of the own group, rooted at its leader; in a group of one rank they do nothing. */

static void write_own(const struct groups* groups, enum tisim_word word, const int64_t* arguments,
                      size_t count) {
  const struct tisim_named named = tisim_on(groups->own->number);
  if (!groups->own->is_self) tisim_write(word, arguments, count, &named, false);
}

static void reduce_own(const struct groups* groups, int64_t bytes) {
  write_own(groups, TISIM_reduce, (const int64_t[]){bytes, 0, 0, BYTES}, 4);
}

static void bcast_own(const struct groups* groups, int64_t bytes) {
  write_own(groups, TISIM_bcast, (const int64_t[]){bytes, 0, BYTES}, 3);
}

/* Gathers the bytes that each rank of the own group sends or receives; returns their sum. The
 * caller frees `counts`. */
static int64_t counts_of_own(const struct groups* groups, int64_t bytes, int64_t** counts) {
  const int size = groups->own->size;
  int64_t sum = 0;
  *counts = calloc((size_t)size, sizeof **counts);
  PMPI_Allgather(&bytes, 1, MPI_INT64_T, *counts, 1, MPI_INT64_T, groups->local);
  for (int i = 0; i < size; ++i) sum += (*counts)[i];
  return sum;
}

/* A gatherv or scatterv; as in MPI, only the leader knows `counts`. */
static void vector_own(const struct groups* groups, enum tisim_word word, const int64_t* counts,
                       int64_t bytes) {
  const int size = groups->own->size;
  int64_t* const arguments = calloc((size_t)size + 4, sizeof *arguments);
  int64_t* const vector = arguments + (word == TISIM_gatherv);
  if (arguments == NULL) return;
  for (int i = 0; i < size && is_leader(groups); ++i) vector[i] = counts[i];
  arguments[word == TISIM_gatherv ? 0 : size] = bytes;
  arguments[size + 2] = BYTES;
  arguments[size + 3] = BYTES;
  write_own(groups, word, arguments, (size_t)size + 4);
  free(arguments);
}

static void gather_own(const struct groups* groups, int64_t bytes) {
  write_own(groups, TISIM_gather, (const int64_t[]){bytes, bytes, 0, BYTES, BYTES}, 5);
}

/* The leader of a gatherv first gathers the counts. Returns the bytes that it receives. */
static int64_t gather_all_own(const struct groups* groups, int64_t bytes, bool is_vector) {
  if (!is_vector) {
    gather_own(groups, bytes);
    return bytes * groups->own->size;
  }
  int64_t* counts = NULL;
  const int64_t sum = counts_of_own(groups, bytes, &counts);
  gather_own(groups, (int64_t)sizeof(int));
  vector_own(groups, TISIM_gatherv, counts, bytes);
  free(counts);
  return sum;
}

static int64_t sum_of(const struct tisim_side* side, int ranks) {
  int64_t sum = 0;
  for (int i = 0; i < ranks; ++i) sum += tisim_bytes_at(side, i);
  return sum;
}

/* Non-blocking calls. */

/* Posts messages with one rank of the other group, with all of them for MPI_ROOT, or none for
 * MPI_PROC_NULL. A side that is NULL has no messages. */
static void post_messages(MPI_Comm comm, const struct tisim_posted* posted, int partner,
                          const struct tisim_side* sent, const struct tisim_side* received) {
  const struct groups groups = {.both = tisim_comm_of_messages(comm)};
  const struct tisim_side* const sides[] = {received, sent};
  const int first = partner == MPI_ROOT ? 0 : partner;
  int end = partner == MPI_PROC_NULL ? partner : partner + 1;
  if (partner == MPI_ROOT) PMPI_Comm_remote_size(comm, &end);
  const int directions = (sent != NULL) + (received != NULL);
  const struct tisim_request* const all = tisim_request_add_several(
      posted->request, posted->variable, (size_t)directions * (size_t)(end - first));
  size_t count = 0;
  for (int i = first; i < end; ++i) {
    for (int side = 0; side < 2; ++side) {
      if (sides[side] == NULL) continue;
      write_message(side == 0 ? TISIM_irecv : TISIM_isend, &groups, groups.both->remote_first + i,
                    tisim_bytes_at(sides[side], i),
                    count == 0 ? all->number : all->more[count - 1]);
      ++count;
    }
  }
}

/* Posts a collective of both groups, whose ranks wait for one another. */
static void post_on_both(enum tisim_word word, const int64_t* arguments, size_t count,
                         MPI_Comm comm, const struct tisim_posted* posted) {
  struct tisim_named named = tisim_on(tisim_comm_of_messages(comm)->number);
  named.request = tisim_request_add(posted->request, posted->variable)->number;
  tisim_write(word, arguments, count, &named, false);
}

static void post(enum tisim_word word, const struct tisim_side* sent,
                 const struct tisim_side* received, int root, MPI_Comm comm,
                 const struct tisim_posted* posted) {
  const bool is_root = root == MPI_ROOT;
  int size = 1;
  switch (word) {
    case TISIM_barrier:
      post_on_both(TISIM_ibarrier, NULL, 0, comm, posted);
      return;
    case TISIM_bcast:
    case TISIM_scatter:
    case TISIM_scatterv:
      post_messages(comm, posted, root, is_root ? sent : NULL, is_root ? NULL : received);
      return;
    case TISIM_reduce:
    case TISIM_gather:
    case TISIM_gatherv:
      post_messages(comm, posted, root, is_root ? NULL : sent, is_root ? received : NULL);
      return;
    case TISIM_reducescatter:
      PMPI_Comm_size(comm, &size);
      break;
    case TISIM_allgather:
    case TISIM_allgatherv:
    case TISIM_alltoall:
    case TISIM_alltoallv:
      post_messages(comm, posted, MPI_ROOT, sent, received);
      return;
    default:
      break;
  }
  post_on_both(TISIM_iallreduce, (const int64_t[]){sum_of(sent, size), 0, BYTES}, 3, comm, posted);
}

/* Blocking calls. */

static void allreduce(const struct groups* groups, int64_t bytes) {
  reduce_own(groups, bytes);
  exchange_of_leaders(groups, bytes, bytes);
  bcast_own(groups, bytes);
}

static void reducescatter(const struct groups* groups, const struct tisim_side* sent) {
  const int size = groups->own->size;
  const int64_t sum = sum_of(sent, size);
  int64_t* const own = calloc((size_t)size, sizeof *own);
  for (int i = 0; i < size && own != NULL; ++i) own[i] = tisim_bytes_at(sent, i);
  /* The leader of the other group reduces the data of all ranks. */
  exchange_of_leaders(groups, sum, sum);
  if (!is_leader(groups)) send_to(groups, groups->remote_leader, sum);
  for (int i = 1; i < groups->remote_size && is_leader(groups); ++i) {
    receive_from(groups, groups->remote_leader + i, sum);
  }
  if (own != NULL) vector_own(groups, TISIM_scatterv, own, own[groups->own->rank]);
  free(own);
}

static void scatter(const struct groups* groups, int64_t bytes, int root) {
  if (is_leader(groups)) receive_from(groups, root, bytes * groups->own->size);
  write_own(groups, TISIM_scatter, (const int64_t[]){bytes, bytes, 0, BYTES, BYTES}, 5);
}

static void scatterv(const struct groups* groups, int64_t bytes, int root) {
  int64_t* own = NULL;
  const int64_t sum = counts_of_own(groups, bytes, &own);
  if (is_leader(groups)) {
    receive_from(groups, root, groups->own->size * (int64_t)sizeof(int));
    receive_from(groups, root, sum);
  }
  vector_own(groups, TISIM_scatterv, own, bytes);
  free(own);
}

/* A rooted call, on a participating rank of the root's group or on a rank of the other group. */
static void perform_rooted(const struct groups* groups, enum tisim_word word,
                           const struct tisim_side* sent, const struct tisim_side* received,
                           int root) {
  const int leader = groups->remote_leader;
  const int others = groups->remote_size;
  if (root == MPI_ROOT) {
    if (word == TISIM_scatterv) send_to(groups, leader, others * (int64_t)sizeof(int));
    if (word == TISIM_bcast) send_to(groups, leader, tisim_bytes_at(sent, 0));
    if (word == TISIM_scatter || word == TISIM_scatterv) {
      send_to(groups, leader, sum_of(sent, others));
    }
    if (word == TISIM_reduce) receive_from(groups, leader, tisim_bytes_at(received, 0));
    if (word == TISIM_gather || word == TISIM_gatherv) {
      receive_from(groups, leader, sum_of(received, others));
    }
    return;
  }
  const bool receives = word == TISIM_bcast || word == TISIM_scatter || word == TISIM_scatterv;
  int64_t bytes = tisim_bytes_at(receives ? received : sent, 0);
  if (word == TISIM_scatter) scatter(groups, bytes, leader + root);
  if (word == TISIM_scatterv) scatterv(groups, bytes, leader + root);
  if (word == TISIM_bcast) {
    if (is_leader(groups)) receive_from(groups, leader + root, bytes);
    bcast_own(groups, bytes);
  }
  if (receives) return;
  if (word == TISIM_reduce) {
    reduce_own(groups, bytes);
  } else {
    bytes = gather_all_own(groups, bytes, word == TISIM_gatherv);
  }
  if (is_leader(groups)) send_to(groups, leader + root, bytes);
}

static void perform(const struct groups* groups, enum tisim_word word,
                    const struct tisim_side* sent, const struct tisim_side* received, int root) {
  switch (word) {
    case TISIM_barrier:
      allreduce(groups, (int64_t)sizeof(int));
      return;
    case TISIM_reducescatter:
      reducescatter(groups, sent);
      return;
    case TISIM_alltoall:
    case TISIM_alltoallv:
      exchange_with_all(groups, sent, received);
      return;
    case TISIM_allgather:
    case TISIM_allgatherv: {
      const int64_t all = sum_of(received, groups->remote_size);
      const bool is_vector = word == TISIM_allgatherv;
      const int64_t sum = gather_all_own(groups, tisim_bytes_at(sent, 0), is_vector);
      exchange_of_leaders(groups, sum, all);
      bcast_own(groups, all);
      return;
    }
    case TISIM_bcast:
    case TISIM_reduce:
    case TISIM_gather:
    case TISIM_gatherv:
    case TISIM_scatter:
    case TISIM_scatterv:
      if (root != MPI_PROC_NULL) perform_rooted(groups, word, sent, received, root);
      return;
    default:
      allreduce(groups, tisim_bytes_at(sent, 0));
  }
}

bool tisim_write_intercomm_collective(enum tisim_word word, const struct tisim_side* sent,
                                      const struct tisim_side* received, int root, MPI_Comm comm,
                                      const struct tisim_posted* posted) {
  if (!tisim_is_inter(comm) || !tisim_is_active()) return false;
  if (posted != NULL && posted->is_persistent) return false;
  /* Their two sides are the same data. */
  if (word == TISIM_bcast || word == TISIM_reduce) received = sent;
  if (posted != NULL) {
    post(word, sent, received, root, comm, posted);
  } else {
    const struct groups groups = groups_of(comm);
    perform(&groups, word, sent, received, root);
  }
  return true;
}
