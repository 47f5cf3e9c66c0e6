#include "communicators.h"

#include <stdlib.h>

#include "execute.h"

enum { MOST = 1 << 16 };

/* Initialised by their first user: 0 means that there is none. */
static struct {
  MPI_Comm handle;
  MPI_Request copying; /* while `is_copied` */
  int rank;
  int exists;
  int is_copied;
} table[MOST];

static void finish_copy(int number) {
  if (!table[number].is_copied) return;
  table[number].is_copied = 0;
  MPI_Wait(&table[number].copying, MPI_STATUS_IGNORE); /* from here on a recorder knows it */
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

static void keep(int number, MPI_Comm handle) {
  table[number].handle = handle;
  table[number].exists = handle != MPI_COMM_NULL;
  if (table[number].exists) PMPI_Comm_rank(handle, &table[number].rank);
}

void split_communicator(const struct instruction* instruction) {
  if (program.rehearsing) return;
  const int64_t color = instruction->numbers[2], key = instruction->numbers[3];
  MPI_Comm made;
  MPI_Comm_split(communicator_of(instruction), color < 0 ? MPI_UNDEFINED : (int)color, (int)key,
                 &made);
  keep((int)instruction->numbers[1], made);
}

void copy_communicator(const struct instruction* instruction) {
  if (program.rehearsing) return;
  MPI_Comm made;
  MPI_Comm_dup(communicator_of(instruction), &made);
  keep((int)instruction->numbers[1], made);
}

void begin_copy(const struct instruction* instruction) {
  if (program.rehearsing) return;
  const int number = (int)instruction->numbers[1];
  MPI_Comm_idup(communicator_of(instruction), &table[number].handle, &table[number].copying);
  table[number].exists = table[number].is_copied = 1;
}

void make_of_group(const struct instruction* instruction) {
  if (program.rehearsing) return;
  const int count = (int)instruction->count - 2, number = (int)instruction->numbers[1];
  int* const ranks = malloc((size_t)(count + 1) * sizeof *ranks);
  if (ranks == NULL) fail("no memory for a group of %d ranks", count);
  for (int i = 0; i < count; i++) ranks[i] = (int)instruction->numbers[2 + i];
  MPI_Group all, some;
  MPI_Comm made;
  PMPI_Comm_group(MPI_COMM_WORLD, &all);
  PMPI_Group_incl(all, count, ranks, &some);
  MPI_Comm_create_group(MPI_COMM_WORLD, some, 0, &made);
  PMPI_Group_free(&some);
  PMPI_Group_free(&all);
  free(ranks);
  keep(number, made);
}

void free_communicator(const struct instruction* instruction) {
  const int number = instruction->communicator;
  if (program.rehearsing || !table[number].exists) return;
  finish_copy(number);
  MPI_Comm_free(&table[number].handle);
  table[number].exists = 0;
}

void free_communicators(void) {
  if (program.rehearsing) return;
  for (int number = 1; number < MOST; number++) {
    if (!table[number].exists) continue;
    finish_copy(number);
    PMPI_Comm_free(&table[number].handle);
    table[number].exists = 0;
  }
}
