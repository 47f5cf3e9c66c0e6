#include <stdlib.h>
#include <string.h>

#include "execute.h"

enum { MAX_COMMUNICATORS = 1 << 16 };

/* Initialised on first use: 0 means that there is none. */
static struct {
  MPI_Comm handle;
  MPI_Comm topology;   /* if `has_topology` */
  MPI_Request copying; /* while `is_copied` */
  int rank;
  int exists;
  int is_copied;
  int has_topology;
} table[MAX_COMMUNICATORS];

static void finish_copy(int number) {
  if (!table[number].is_copied) return;
  table[number].is_copied = 0;
  MPI_Wait(&table[number].copying, MPI_STATUS_IGNORE); /* a recorder knows it from here on */
  PMPI_Comm_rank(table[number].handle, &table[number].rank);
}

MPI_Comm communicator_of(const struct instruction* instruction) {
  const int number = instruction->communicator;
  if (number == 0) return MPI_COMM_WORLD;
  if (program.rehearsing) return MPI_COMM_NULL;
  if (!table[number].exists) fail("this rank is not in communicator %d", number);
  finish_copy(number);
  return table[number].handle;
}

int rank_in(const struct instruction* instruction) {
  const int number = instruction->communicator;
  if (program.rehearsing || number == 0) return program.rank;
  finish_copy(number);
  return table[number].rank;
}

static int are_neighbours(MPI_Comm topology, int destinations, const int* destination, int sources,
                          const int* source) {
  int in, out, weighted;
  PMPI_Dist_graph_neighbors_count(topology, &in, &out, &weighted);
  if (in != sources || out != destinations) return 0;
  const size_t all = (size_t)(in + out);
  int* const ranks = memory_for(NULL, 2 * all, sizeof *ranks);
  PMPI_Dist_graph_neighbors(topology, in, ranks, ranks + all, out, ranks + in, ranks + all + in);
  const int are = memcmp(ranks, source, (size_t)in * sizeof *ranks) == 0 &&
                  memcmp(ranks + in, destination, (size_t)out * sizeof *ranks) == 0;
  free(ranks);
  return are;
}

MPI_Comm topology_of(const struct instruction* instruction, int destinations,
                     const int* destination, int sources, const int* source) {
  const int number = instruction->communicator;
  const MPI_Comm all = communicator_of(instruction);
  if (program.rehearsing) return MPI_COMM_NULL;
  if (!table[number].has_topology) {
    MPI_Dist_graph_create_adjacent(all, sources, source, MPI_UNWEIGHTED, destinations, destination,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &table[number].topology);
    table[number].has_topology = 1;
  } else if (!are_neighbours(table[number].topology, destinations, destination, sources, source)) {
    fail("the neighbours in communicator %d differ from those of an earlier call, unlike in MPI",
         number);
  }
  return table[number].topology;
}

static void free_topology(int number) {
  if (table[number].has_topology) MPI_Comm_free(&table[number].topology);
  table[number].has_topology = 0;
}

MPI_Group group_among(MPI_Group all, const int64_t* numbers, int64_t count) {
  int* const ranks = memory_for(NULL, (size_t)count, sizeof *ranks);
  MPI_Group some;
  for (int64_t i = 0; i < count; i++) ranks[i] = (int)numbers[i];
  PMPI_Group_incl(all, (int)count, ranks, &some);
  PMPI_Group_free(&all);
  free(ranks);
  return some;
}

static MPI_Comm comm_of_group(const struct instruction* instruction) {
  MPI_Group all;
  MPI_Comm made;
  PMPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group some = group_among(all, instruction->numbers + 2, instruction->count - 2);
  MPI_Comm_create_group(MPI_COMM_WORLD, some, 0, &made);
  PMPI_Group_free(&some);
  return made;
}

void make_communicator(const struct instruction* instruction) {
  if (program.rehearsing) return;
  const int64_t* const numbers = instruction->numbers; /* the parent, the new one, and more */
  const int number = (int)numbers[1];
  MPI_Comm made;
  switch (instruction->kind) {
    case KIND_COMM_SPLIT:
      MPI_Comm_split(communicator_of(instruction), numbers[2] < 0 ? MPI_UNDEFINED : (int)numbers[2],
                     (int)numbers[3], &made);
      break;
    case KIND_COMM_DUP:
      MPI_Comm_dup(communicator_of(instruction), &made);
      break;
    case KIND_COMM_IDUP:
      MPI_Comm_idup(communicator_of(instruction), &table[number].handle, &table[number].copying);
      table[number].exists = table[number].is_copied = 1;
      return;
    case KIND_COMM_GROUP:
      made = comm_of_group(instruction);
      break;
    default:
      fail("the script makes a communicator of kind %d", instruction->kind);
  }
  table[number].handle = made;
  table[number].exists = made != MPI_COMM_NULL;
  if (table[number].exists) PMPI_Comm_rank(made, &table[number].rank);
}

void free_communicator(const struct instruction* instruction) {
  const int number = instruction->communicator;
  if (program.rehearsing || !table[number].exists) return;
  finish_copy(number);
  free_topology(number);
  MPI_Comm_free(&table[number].handle);
  table[number].exists = 0;
}

void free_communicators(void) {
  if (program.rehearsing) return;
  free_topology(0);
  for (int number = 1; number < MAX_COMMUNICATORS; number++) {
    if (!table[number].exists) continue;
    finish_copy(number);
    free_topology(number);
    PMPI_Comm_free(&table[number].handle);
    table[number].exists = 0;
  }
}
