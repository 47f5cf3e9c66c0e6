/* Collectives on intercommunicators, as what MPI libraries make of them: collectives in a group,
 * and messages between the first ranks of the groups, its leaders. In those that do not block, each
 * rank has messages with all ranks of the other group that it has something for.
 *
 * That is how Open MPI does all of them; MPICH differs in barriers (two broadcasts of a byte), in
 * gathers and scatters of more than 2 KiB a rank (messages of the root with each rank) and in
 * reductions that scatter (two local ones and an exchange). */
#include <stdlib.h>

#include "record.h"

#define BYTES 6 /* a type of the trace */

/* Both groups as one rank sees them. */
struct groups {
  const struct tisim_comm* both;
  const struct tisim_comm* own;
  MPI_Comm local; /* of the own group */
  int remote_size;
  int remote_leader; /* in `both` */
};

static bool find(MPI_Comm comm, struct groups* groups) {
  if (!tisim_is_inter(comm) || !tisim_is_active()) return false;
  groups->both = tisim_comm_of_messages(comm);
  groups->own = tisim_group_of(comm, &groups->local);
  groups->remote_leader = groups->both->remote_first;
  groups->remote_size = groups->both->size - groups->own->size;
  return true;
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

/* Exchanges messages with some ranks of the other group at once. Zero bytes make no message, unless
 * there is only one rank. */
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

/* `types` are of each rank; NULL: counts are bytes. */
static void exchange_with_all(const struct groups* groups, struct tisim_counts sent,
                              struct tisim_counts received, const MPI_Datatype* sent_types,
                              const MPI_Datatype* received_types) {
  const int size = groups->remote_size;
  int64_t* const bytes = calloc(2 * (size_t)size, sizeof *bytes);
  if (bytes == NULL) return;
  for (int i = 0; i < size; ++i) {
    const int64_t out = tisim_count(&sent, i);
    const int64_t in = tisim_count(&received, i);
    bytes[i] = sent_types == NULL ? out : tisim_bytes(out, sent_types[i]);
    bytes[size + i] = received_types == NULL ? in : tisim_bytes(in, received_types[i]);
  }
  exchange_with(groups, size, bytes, bytes + size);
  free(bytes);
}

static void exchange_of_leaders(const struct groups* groups, int64_t sent, int64_t received) {
  if (is_leader(groups)) exchange_with(groups, 1, &sent, &received);
}

/* Collectives of the own group, with its leader as their root; of one rank they are nothing. */

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

/* Bytes that each rank of the own group sends or receives; returns their sum. The caller frees
 * `counts`. */
static int64_t counts_of_own(const struct groups* groups, int64_t bytes, int64_t** counts) {
  const int size = groups->own->size;
  int64_t sum = 0;
  *counts = calloc((size_t)size, sizeof **counts);
  PMPI_Allgather(&bytes, 1, MPI_INT64_T, *counts, 1, MPI_INT64_T, groups->local);
  for (int i = 0; i < size; ++i) sum += (*counts)[i];
  return sum;
}

/* A gatherv or scatterv: `counts` are known to the leader alone, as MPI has it. */
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

/* The leader asks for the counts first. */
static int64_t gatherv_own(const struct groups* groups, int64_t bytes) {
  int64_t* counts = NULL;
  const int64_t sum = counts_of_own(groups, bytes, &counts);
  gather_own(groups, (int64_t)sizeof(int));
  vector_own(groups, TISIM_gatherv, counts, bytes);
  free(counts);
  return sum;
}

/* Calls that do not block. */

/* A type of each rank; NULL: `type` of all. */
struct side {
  struct tisim_counts counts;
  MPI_Datatype type;
  const MPI_Datatype* types;
};

static bool is_posted(MPI_Comm comm, const struct tisim_posted* posted) {
  return posted != NULL && !posted->is_persistent && tisim_is_inter(comm) && tisim_is_active();
}

static int64_t bytes_with(const struct side* side, int rank) {
  return tisim_bytes(tisim_count(&side->counts, rank),
                     side->types == NULL ? side->type : side->types[rank]);
}

/* Messages with one rank of the other group, for MPI_ROOT with all of them, for MPI_PROC_NULL with
 * none. NULL: nothing is sent or received. */
static bool post_messages(MPI_Comm comm, const struct tisim_posted* posted, int partner,
                          const struct side* sent, const struct side* received) {
  if (!is_posted(comm, posted)) return false;
  const struct groups groups = {.both = tisim_comm_of_messages(comm)};
  const struct side* const sides[] = {received, sent};
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
                    bytes_with(sides[side], i), count == 0 ? all->number : all->more[count - 1]);
      ++count;
    }
  }
  return true;
}

/* For a call with a root, where `sent` and `received` are those of a rank that sends and of one
 * that receives: the root sends to all, or receives from all. */
static bool post_rooted(MPI_Comm comm, const struct tisim_posted* posted, int root, bool root_sends,
                        const struct side* sent, const struct side* received) {
  const bool sends = (root == MPI_ROOT) == root_sends;
  return post_messages(comm, posted, root, sends ? sent : NULL, sends ? NULL : received);
}

/* Ranks of both groups wait for one another: a collective of theirs. */
static bool post_on_both(enum tisim_word word, const int64_t* arguments, size_t count,
                         MPI_Comm comm, const struct tisim_posted* posted) {
  if (!is_posted(comm, posted)) return false;
  struct tisim_named named = tisim_on(tisim_comm_of_messages(comm)->number);
  named.request = tisim_request_add(posted->request, posted->variable)->number;
  tisim_write(word, arguments, count, &named, false);
  return true;
}

static bool post_allreduce(int64_t bytes, MPI_Comm comm, const struct tisim_posted* posted) {
  return post_on_both(TISIM_iallreduce, (const int64_t[]){bytes, 0, BYTES}, 3, comm, posted);
}

/* The collectives. */

bool tisim_barrier_between_groups(MPI_Comm comm, const struct tisim_posted* posted) {
  if (posted != NULL) return post_on_both(TISIM_ibarrier, NULL, 0, comm, posted);
  return tisim_allreduce_between_groups(1, MPI_INT, comm, posted);
}

bool tisim_allreduce_between_groups(MPI_Count count, MPI_Datatype type, MPI_Comm comm,
                                    const struct tisim_posted* posted) {
  if (posted != NULL) return post_allreduce(tisim_bytes(count, type), comm, posted);
  struct groups groups;
  if (!find(comm, &groups)) return false;
  const int64_t bytes = tisim_bytes(count, type);
  reduce_own(&groups, bytes);
  exchange_of_leaders(&groups, bytes, bytes);
  bcast_own(&groups, bytes);
  return true;
}

bool tisim_bcast_between_groups(MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
                                const struct tisim_posted* posted) {
  if (posted != NULL) {
    const struct side data = {tisim_same_count(count), type, NULL};
    return post_rooted(comm, posted, root, true, &data, &data);
  }
  struct groups groups;
  if (!find(comm, &groups)) return false;
  const int64_t bytes = root == MPI_PROC_NULL ? 0 : tisim_bytes(count, type);
  if (root == MPI_ROOT) {
    send_to(&groups, groups.remote_leader, bytes);
  } else if (root != MPI_PROC_NULL) {
    if (is_leader(&groups)) receive_from(&groups, groups.remote_leader + root, bytes);
    bcast_own(&groups, bytes);
  }
  return true;
}

bool tisim_reduce_between_groups(MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
                                 const struct tisim_posted* posted) {
  if (posted != NULL) {
    const struct side data = {tisim_same_count(count), type, NULL};
    return post_rooted(comm, posted, root, false, &data, &data);
  }
  struct groups groups;
  if (!find(comm, &groups)) return false;
  const int64_t bytes = root == MPI_PROC_NULL ? 0 : tisim_bytes(count, type);
  if (root == MPI_ROOT) {
    receive_from(&groups, groups.remote_leader, bytes);
  } else if (root != MPI_PROC_NULL) {
    reduce_own(&groups, bytes);
    if (is_leader(&groups)) send_to(&groups, groups.remote_leader + root, bytes);
  }
  return true;
}

/* The sum of what the ranks of the own group get. */
static int64_t sum_of_own(struct tisim_counts counts, MPI_Datatype type, MPI_Comm comm) {
  int size = 0;
  int64_t sum = 0;
  PMPI_Comm_size(comm, &size);
  for (int i = 0; i < size; ++i) sum += tisim_bytes(tisim_count(&counts, i), type);
  return sum;
}

bool tisim_reducescatter_between_groups(struct tisim_counts counts, MPI_Datatype type,
                                        MPI_Comm comm, const struct tisim_posted* posted) {
  if (posted != NULL) {
    return is_posted(comm, posted) && post_allreduce(sum_of_own(counts, type, comm), comm, posted);
  }
  struct groups groups;
  if (!find(comm, &groups)) return false;
  const int size = groups.own->size;
  int64_t* const own = calloc((size_t)size, sizeof *own);
  int64_t sum = 0;
  for (int i = 0; i < size && own != NULL; ++i) {
    own[i] = tisim_bytes(tisim_count(&counts, i), type);
    sum += own[i];
  }
  /* The leader of the other group reduces what it gets from all ranks. */
  exchange_of_leaders(&groups, sum, sum);
  if (!is_leader(&groups)) send_to(&groups, groups.remote_leader, sum);
  for (int i = 1; i < groups.remote_size && is_leader(&groups); ++i) {
    receive_from(&groups, groups.remote_leader + i, sum);
  }
  if (own != NULL) vector_own(&groups, TISIM_scatterv, own, own[groups.own->rank]);
  free(own);
  return true;
}

/* `sent` and `received` are what a rank sends to and receives from each. Only where the call reads
 * them they are types. */
static void alltoall(const struct groups* groups, int64_t sent, int64_t received) {
  exchange_with_all(groups, tisim_same_count(sent), tisim_same_count(received), NULL, NULL);
}

static void allgather(const struct groups* groups, int64_t sent, int64_t received) {
  gather_own(groups, sent);
  exchange_of_leaders(groups, sent * groups->own->size, received * groups->remote_size);
  bcast_own(groups, received * groups->remote_size);
}

static void gather(const struct groups* groups, int64_t sent, int root) {
  gather_own(groups, sent);
  if (is_leader(groups)) send_to(groups, groups->remote_leader + root, sent * groups->own->size);
}

static void scatter(const struct groups* groups, int64_t received, int root) {
  const int64_t arguments[] = {received, received, 0, BYTES, BYTES};
  if (is_leader(groups)) {
    receive_from(groups, groups->remote_leader + root, received * groups->own->size);
  }
  write_own(groups, TISIM_scatter, arguments, 5);
}

bool tisim_exchange_between_groups(enum tisim_word word, MPI_Count send_count,
                                   MPI_Datatype send_type, MPI_Count receive_count,
                                   MPI_Datatype receive_type, int root, MPI_Comm comm,
                                   const struct tisim_posted* posted) {
  if (posted != NULL) {
    const struct side out = {tisim_same_count(send_count), send_type, NULL};
    const struct side in = {tisim_same_count(receive_count), receive_type, NULL};
    return word == TISIM_igather || word == TISIM_iscatter
               ? post_rooted(comm, posted, root, word == TISIM_iscatter, &out, &in)
               : post_messages(comm, posted, MPI_ROOT, &out, &in);
  }
  struct groups groups;
  if (!find(comm, &groups)) return false;
  const bool is_rooted = word == TISIM_gather || word == TISIM_scatter;
  if (is_rooted && root == MPI_PROC_NULL) return true;
  const bool is_root = is_rooted && root == MPI_ROOT;
  const bool sends = !is_rooted || (word == TISIM_gather) != is_root;
  const bool receives = !is_rooted || !sends;
  const int64_t sent = sends ? tisim_bytes(send_count, send_type) : 0;
  const int64_t received = receives ? tisim_bytes(receive_count, receive_type) : 0;
  if (word == TISIM_alltoall) alltoall(&groups, sent, received);
  if (word == TISIM_allgather) allgather(&groups, sent, received);
  if (is_root && sends) send_to(&groups, groups.remote_leader, sent * groups.remote_size);
  if (is_root && receives) {
    receive_from(&groups, groups.remote_leader, received * groups.remote_size);
  }
  if (word == TISIM_gather && !is_root) gather(&groups, sent, root);
  if (word == TISIM_scatter && !is_root) scatter(&groups, received, root);
  return true;
}

/* The counts of the ranks of the other group: of a root, or of all ranks. */
static int64_t sum_of_remote(const struct groups* groups, struct tisim_counts counts,
                             MPI_Datatype type) {
  int64_t sum = 0;
  for (int i = 0; i < groups->remote_size; ++i) {
    sum += tisim_bytes(tisim_count(&counts, i), type);
  }
  return sum;
}

bool tisim_gatherv_between_groups(MPI_Count send_count, MPI_Datatype send_type,
                                  struct tisim_counts counts, MPI_Datatype type, int root,
                                  MPI_Comm comm, const struct tisim_posted* posted) {
  if (posted != NULL) {
    const struct side out = {tisim_same_count(send_count), send_type, NULL};
    const struct side in = {counts, type, NULL};
    return post_rooted(comm, posted, root, false, &out, &in);
  }
  struct groups groups;
  if (!find(comm, &groups)) return false;
  if (root == MPI_ROOT) {
    receive_from(&groups, groups.remote_leader, sum_of_remote(&groups, counts, type));
  } else if (root != MPI_PROC_NULL) {
    const int64_t sum = gatherv_own(&groups, tisim_bytes(send_count, send_type));
    if (is_leader(&groups)) send_to(&groups, groups.remote_leader + root, sum);
  }
  return true;
}

bool tisim_scatterv_between_groups(struct tisim_counts counts, MPI_Datatype type,
                                   MPI_Count receive_count, MPI_Datatype receive_type, int root,
                                   MPI_Comm comm, const struct tisim_posted* posted) {
  if (posted != NULL) {
    const struct side out = {counts, type, NULL};
    const struct side in = {tisim_same_count(receive_count), receive_type, NULL};
    return post_rooted(comm, posted, root, true, &out, &in);
  }
  struct groups groups;
  if (!find(comm, &groups)) return false;
  if (root == MPI_ROOT) {
    send_to(&groups, groups.remote_leader, groups.remote_size * (int64_t)sizeof(int));
    send_to(&groups, groups.remote_leader, sum_of_remote(&groups, counts, type));
  } else if (root != MPI_PROC_NULL) {
    const int64_t received = tisim_bytes(receive_count, receive_type);
    int64_t* own = NULL;
    const int64_t sum = counts_of_own(&groups, received, &own);
    if (is_leader(&groups)) {
      const int64_t number = groups.own->size * (int64_t)sizeof(int);
      receive_from(&groups, groups.remote_leader + root, number);
      receive_from(&groups, groups.remote_leader + root, sum);
    }
    vector_own(&groups, TISIM_scatterv, own, received);
    free(own);
  }
  return true;
}

bool tisim_allgatherv_between_groups(MPI_Count send_count, MPI_Datatype send_type,
                                     struct tisim_counts counts, MPI_Datatype type, MPI_Comm comm,
                                     const struct tisim_posted* posted) {
  if (posted != NULL) {
    const struct side out = {tisim_same_count(send_count), send_type, NULL};
    const struct side in = {counts, type, NULL};
    return post_messages(comm, posted, MPI_ROOT, &out, &in);
  }
  struct groups groups;
  if (!find(comm, &groups)) return false;
  const int64_t received = sum_of_remote(&groups, counts, type);
  const int64_t sum = gatherv_own(&groups, tisim_bytes(send_count, send_type));
  exchange_of_leaders(&groups, sum, received);
  bcast_own(&groups, received);
  return true;
}

bool tisim_alltoallw_between_groups(struct tisim_counts sent, const MPI_Datatype* sent_types,
                                    struct tisim_counts received,
                                    const MPI_Datatype* received_types, MPI_Comm comm,
                                    const struct tisim_posted* posted) {
  if (posted != NULL) {
    const struct side out = {sent, MPI_DATATYPE_NULL, sent_types};
    const struct side in = {received, MPI_DATATYPE_NULL, received_types};
    return post_messages(comm, posted, MPI_ROOT, &out, &in);
  }
  struct groups groups;
  if (!find(comm, &groups)) return false;
  exchange_with_all(&groups, sent, received, sent_types, received_types);
  return true;
}

bool tisim_alltoallv_between_groups(struct tisim_counts sent, MPI_Datatype sent_type,
                                    struct tisim_counts received, MPI_Datatype received_type,
                                    MPI_Comm comm, const struct tisim_posted* posted) {
  if (posted != NULL) {
    const struct side out = {sent, sent_type, NULL};
    const struct side in = {received, received_type, NULL};
    return post_messages(comm, posted, MPI_ROOT, &out, &in);
  }
  struct groups groups;
  if (!find(comm, &groups)) return false;
  MPI_Datatype* const types = calloc(2 * (size_t)groups.remote_size, sizeof *types);
  if (types == NULL) return true;
  for (int i = 0; i < groups.remote_size; ++i) {
    types[i] = sent_type;
    types[groups.remote_size + i] = received_type;
  }
  exchange_with_all(&groups, sent, received, types, types + groups.remote_size);
  free(types);
  return true;
}
