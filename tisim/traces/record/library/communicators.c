/* Communicators: the number of each in the trace.
 *
 * A communicator that all ranks of one parent create together is a comm_dup or a comm_split in the
 * trace. Every other way of creation is written as a split: its color is the parent rank of the
 * first member, its key the rank in the new communicator. One that only its members create is a
 * comm_group. All ranks that create a communicator choose the same number, the lowest that is free
 * on all; only those of an MPI_Comm_idup, which must not wait for each other, choose alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"
#include "record.h"

#define BUCKETS 1024
/* Number of words of the bit set agreed on at once. */
#define WORDS 16

struct entry {
  uintptr_t handle;
  bool expressible;
  struct tisim_comm comm;
  MPI_Comm local;          /* of an intercommunicator: its own group */
  struct tisim_comm group; /* the same in the trace; its size is 0 until it is written */
  struct entry* next;
};

static struct entry* buckets[BUCKETS];
static struct tisim_numbers_in_use used;
static struct tisim_comm world;
static struct tisim_comm self;

static size_t bucket_of(uintptr_t handle) {
  return (size_t)((handle * UINT64_C(0x9E3779B97F4A7C15)) >> 54) % BUCKETS;
}

static struct entry* entry_of(MPI_Comm comm) {
  struct entry* entry = buckets[bucket_of((uintptr_t)comm)];
  while (entry != NULL && entry->handle != (uintptr_t)comm) entry = entry->next;
  return entry;
}

static struct entry* add(MPI_Comm comm, int64_t number) {
  struct entry** const bucket = &buckets[bucket_of((uintptr_t)comm)];
  struct entry* const entry = tisim_checked(calloc(1, sizeof *entry));
  entry->handle = (uintptr_t)comm;
  entry->expressible = true;
  entry->comm.number = number;
  entry->local = MPI_COMM_NULL;
  PMPI_Comm_rank(comm, &entry->comm.rank);
  PMPI_Comm_size(comm, &entry->comm.size);
  entry->next = *bucket;
  *bucket = entry;
  return entry;
}

/* Allocates the lowest number that is free on all ranks of a communicator. */
static int64_t agree(MPI_Comm parent) {
  for (size_t first = 0;; first += WORDS) {
    uint64_t taken[WORDS];
    tisim_grow_numbers(&used, first + WORDS);
    PMPI_Allreduce(used.bits + first, taken, WORDS, MPI_UINT64_T, MPI_BOR, parent);
    for (size_t word = 0; word < WORDS; ++word) {
      for (int bit = 0; bit < 64 && taken[word] != UINT64_MAX; ++bit) {
        if ((taken[word] >> bit & 1) == 0) {
          const int64_t number = (int64_t)((first + word) * 64) + bit;
          tisim_use_number(&used, number);
          return number;
        }
      }
    }
  }
}

int64_t tisim_number_of_comm(MPI_Comm comm) {
  const struct entry* const entry = entry_of(comm);
  return entry != NULL && entry->expressible ? entry->comm.number : -1;
}

const struct tisim_comm* tisim_comm_of_messages(MPI_Comm comm) {
  if (comm == MPI_COMM_WORLD) return &world;
  if (comm == MPI_COMM_SELF) return &self;
  const struct entry* const entry = entry_of(comm);
  if (entry != NULL && entry->expressible) return &entry->comm;
  tisim_unsupported();
  return NULL;
}

const struct tisim_comm* tisim_comm_of(MPI_Comm comm) {
  const struct tisim_comm* const known = tisim_comm_of_messages(comm);
  if (known == NULL || !known->is_inter) return known;
  tisim_unsupported();
  return NULL;
}

/* Looks up the parent's number; returns false if nothing can be written about the new one. */
static bool is_known(MPI_Comm parent, MPI_Comm made, int64_t* number) {
  const struct tisim_comm* const comm = tisim_comm_of_messages(parent);
  if (comm != NULL && comm->is_inter) {
    tisim_after_intercomm(made);
    return false;
  }
  if (comm == NULL) {
    tisim_after_inexpressible(made);
    return false;
  }
  if (comm->is_self) {
    if (made != MPI_COMM_NULL) add(made, 0)->comm = self;
    return false;
  }
  *number = comm->number;
  return true;
}

static void write_split(int64_t parent, int64_t number, int64_t color, int64_t key) {
  const int64_t arguments[] = {parent, number, color, key};
  const struct tisim_named none = tisim_on(0);
  tisim_write(TISIM_comm_split, arguments, 4, &none, true);
}

void tisim_after_split(MPI_Comm parent, int color, int key, MPI_Comm made) {
  int64_t parent_number;
  if (!is_known(parent, made, &parent_number)) return;
  const int64_t number = agree(parent);
  write_split(parent_number, number, made == MPI_COMM_NULL ? -1 : color, key);
  if (made == MPI_COMM_NULL) {
    tisim_release_number(&used, number);
  } else {
    add(made, number);
  }
}

void tisim_after_dup(MPI_Comm parent, MPI_Comm made) {
  int64_t parent_number;
  if (!is_known(parent, made, &parent_number)) return;
  const int64_t number = agree(parent);
  const int64_t arguments[] = {parent_number, number};
  const struct tisim_named none = tisim_on(0);
  tisim_write(TISIM_comm_dup, arguments, 2, &none, true);
  add(made, number);
}

/* Writes a communicator of some or all ranks of a parent as a split. */
static void write_members(MPI_Comm parent, int64_t parent_number, MPI_Comm made, int64_t number) {
  MPI_Group parents;
  MPI_Group members;
  const int first = 0;
  int leader = 0;
  PMPI_Comm_group(parent, &parents);
  PMPI_Comm_group(made, &members);
  PMPI_Group_translate_ranks(members, 1, &first, parents, &leader);
  PMPI_Group_free(&parents);
  PMPI_Group_free(&members);
  struct entry* const entry = add(made, number);
  write_split(parent_number, number, leader, entry->comm.rank);
}

void tisim_after_create(MPI_Comm parent, MPI_Comm made) {
  int64_t parent_number;
  if (!is_known(parent, made, &parent_number)) return;
  const int64_t number = agree(parent);
  if (made == MPI_COMM_NULL) {
    write_split(parent_number, number, -1, 0);
    tisim_release_number(&used, number);
    return;
  }
  write_members(parent, parent_number, made, number);
}

/* Writes a communicator by its ranks in the world. Returns false if one of them is in another
 * world, such as a spawned process. */
static bool write_group(MPI_Comm made, int64_t number) {
  int size = 0;
  PMPI_Comm_size(made, &size);
  int* const ranks = tisim_checked(malloc(2 * (size_t)size * sizeof *ranks));
  MPI_Group worlds;
  MPI_Group members;
  PMPI_Comm_group(MPI_COMM_WORLD, &worlds);
  PMPI_Comm_group(made, &members);
  for (int i = 0; i < size; ++i) ranks[i] = i;
  if (tisim_records_spawned()) {
    const int own = tisim_own_rank();
    PMPI_Allgather(&own, 1, MPI_INT, ranks + size, 1, MPI_INT, made);
  } else {
    PMPI_Group_translate_ranks(members, size, ranks, worlds, ranks + size);
  }
  PMPI_Group_free(&worlds);
  PMPI_Group_free(&members);
  int64_t* const arguments = tisim_numbers((size_t)size + 1);
  bool is_complete = true;
  arguments[0] = number;
  for (int i = 0; i < size; ++i) {
    arguments[i + 1] = ranks[size + i];
    if (ranks[size + i] == MPI_UNDEFINED) is_complete = false;
  }
  free(ranks);
  const struct tisim_named none = tisim_on(0);
  if (is_complete) tisim_write(TISIM_comm_group, arguments, (size_t)size + 1, &none, true);
  return is_complete;
}

static void remember_inexpressible(MPI_Comm made) {
  if (made != MPI_COMM_NULL) add(made, 0)->expressible = false;
}

void tisim_after_group(MPI_Comm parent, MPI_Comm made) {
  if (made == MPI_COMM_NULL) return;
  const struct tisim_comm* const comm = tisim_comm_of(parent);
  int size = 0;
  PMPI_Comm_size(made, &size);
  if (comm != NULL && comm->is_self) {
    add(made, 0)->comm = self;
    return;
  }
  const int64_t number = agree(made);
  if (!tisim_records_spawned() && comm != NULL && comm->size == size) {
    write_members(parent, comm->number, made, number);
  } else if (write_group(made, number)) {
    add(made, number);
  } else {
    tisim_release_number(&used, number);
    tisim_after_inexpressible(made);
  }
}

void tisim_after_idup(MPI_Comm parent, const void* variable, size_t stride, MPI_Request request,
                      const void* request_variable) {
  const struct tisim_comm* const comm = tisim_comm_of(parent);
  if (comm == NULL) return;
  struct tisim_request* const made =
      tisim_request_add_several(request, request_variable, comm->is_self ? 0 : 1);
  made->made = variable;
  made->made_stride = stride;
  if (comm->is_self) return;
  const int64_t number = tisim_take_number(&used);
  made->made_number = number;
  /* A duplication without cost, and MPI's concurrent agreement on it. */
  const int64_t copy[] = {comm->number, number};
  const struct tisim_named none = tisim_on(0);
  tisim_write(TISIM_comm_idup, copy, 2, &none, true);
  const int64_t agreement[] = {4, 0, 6};
  struct tisim_named named = tisim_on(number);
  named.request = made->number;
  tisim_write(TISIM_ibcast, agreement, 3, &named, true);
}

void tisim_after_request_of_comm(const struct tisim_request* request) {
  MPI_Comm made = MPI_COMM_NULL;
  if (request->made_stride == sizeof made) {
    made = *(const MPI_Comm*)request->made;
  } else {
    made = PMPI_Comm_f2c(*(const MPI_Fint*)request->made);
  }
  struct entry* const entry = add(made, request->made_number);
  if (request->number < 0) entry->comm = self;
}

void tisim_after_inexpressible(MPI_Comm made) {
  tisim_unsupported();
  remember_inexpressible(made);
}

/* Returns the rank in the world of a group's first member; negative if it is in another world. */
static int first_of(MPI_Group group) {
  MPI_Group worlds;
  const int first = 0;
  int rank = -1;
  PMPI_Comm_group(MPI_COMM_WORLD, &worlds);
  PMPI_Group_translate_ranks(group, 1, &first, worlds, &rank);
  PMPI_Group_free(&worlds);
  return rank == MPI_UNDEFINED ? -1 : rank;
}

/* Determines the lowest rank in the trace of each group. */
static void least_of(MPI_Comm between, int* mine, int* theirs) {
  const int own = tisim_own_rank();
  PMPI_Allreduce(&own, theirs, 1, MPI_INT, MPI_MIN, between);
  PMPI_Allreduce(theirs, mine, 1, MPI_INT, MPI_MIN, between);
}

/* The trace has one communicator of both groups, beginning with the group of lower first rank. */
void tisim_after_intercomm(MPI_Comm made) {
  if (made == MPI_COMM_NULL) return;
  MPI_Group group;
  MPI_Group others;
  MPI_Comm both;
  int local_size = 0;
  PMPI_Comm_size(made, &local_size);
  PMPI_Comm_group(made, &group);
  PMPI_Comm_remote_group(made, &others);
  int mine = first_of(group);
  int theirs = first_of(others);
  if (tisim_records_spawned()) least_of(made, &mine, &theirs);
  PMPI_Group_free(&group);
  PMPI_Group_free(&others);
  if (mine < 0 || theirs < 0) {
    remember_inexpressible(made);
    return;
  }
  PMPI_Intercomm_merge(made, mine > theirs, &both);
  const int64_t number = agree(both);
  if (write_group(both, number)) {
    struct entry* const entry = add(made, number);
    PMPI_Comm_rank(both, &entry->comm.rank);
    PMPI_Comm_size(both, &entry->comm.size);
    entry->comm.is_inter = true;
    entry->comm.remote_first = mine > theirs ? 0 : local_size;
    PMPI_Comm_split(both, mine > theirs, 0, &entry->local);
  } else {
    tisim_release_number(&used, number);
    remember_inexpressible(made);
  }
  PMPI_Comm_free(&both);
}

void tisim_after_merge(MPI_Comm inter, MPI_Comm made) {
  if (tisim_comm_of_messages(inter) == NULL) {
    remember_inexpressible(made);
  } else {
    tisim_after_group(MPI_COMM_WORLD, made);
  }
}

/* The children start once their parents have spawned them: all wait for each other. */
static void write_birth(MPI_Comm between) {
  tisim_after_intercomm(between);
  const struct tisim_named named = tisim_on(entry_of(between)->comm.number);
  tisim_write(TISIM_barrier, NULL, 0, &named, true);
}

void tisim_after_spawn(int root, MPI_Comm comm, MPI_Comm made) {
  if (!tisim_records_spawned()) {
    tisim_after_inexpressible(made);
    return;
  }
  int rank = 0;
  int children = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_remote_size(made, &children);
  (void)tisim_agree_on_ranks(made, rank == root ? tisim_claim_ranks(children) : -1);
  write_birth(made);
}

/* With spawned processes, the world of each rank is a group of the trace's ranks. */
void tisim_begin_communicators(void) {
  tisim_take_number(&used); /* 0: the world */
  PMPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &world.size);
  self.size = 1;
  self.is_self = true;
  if (!tisim_records_spawned()) return;
  MPI_Comm parent = MPI_COMM_NULL;
  world.number = agree(MPI_COMM_WORLD);
  write_group(MPI_COMM_WORLD, world.number);
  PMPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) write_birth(parent);
}

bool tisim_is_inter(MPI_Comm comm) {
  const struct entry* const entry = comm == MPI_COMM_WORLD ? NULL : entry_of(comm);
  return entry != NULL && entry->expressible && entry->comm.is_inter;
}

const struct tisim_comm* tisim_group_of(MPI_Comm comm, MPI_Comm* local) {
  struct entry* const entry = entry_of(comm);
  struct tisim_comm* const group = &entry->group;
  *local = entry->local;
  if (group->size != 0) return group;
  PMPI_Comm_rank(entry->local, &group->rank);
  PMPI_Comm_size(entry->local, &group->size);
  group->is_self = group->size == 1;
  if (group->is_self) return group;
  group->number = agree(entry->local);
  write_group(entry->local, group->number);
  return group;
}

void tisim_before_comm_free(MPI_Comm comm) {
  struct entry** link = &buckets[bucket_of((uintptr_t)comm)];
  while (*link != NULL && (*link)->handle != (uintptr_t)comm) link = &(*link)->next;
  struct entry* const entry = *link;
  if (entry == NULL) return;
  if (entry->expressible && !entry->comm.is_self) {
    const struct tisim_named none = tisim_on(0);
    tisim_write(TISIM_comm_free, &entry->comm.number, 1, &none, true);
    tisim_release_number(&used, entry->comm.number);
  }
  if (entry->group.number != 0) {
    const struct tisim_named none = tisim_on(0);
    tisim_write(TISIM_comm_free, &entry->group.number, 1, &none, true);
    tisim_release_number(&used, entry->group.number);
  }
  if (entry->local != MPI_COMM_NULL) PMPI_Comm_free(&entry->local);
  *link = entry->next;
  free(entry);
}
