#include "communicators.h"

#include "execute.h"

enum { MOST = 1 << 16 };

/* Initialised by their first user: 0 means that there is none. */
static struct {
  MPI_Comm handle;
  int rank;
  int exists;
} table[MOST];

MPI_Comm communicator_of(const struct instruction *instruction) {
  const int number = instruction->communicator;
  if (number == 0) return MPI_COMM_WORLD;
  if (program.rehearsing) return MPI_COMM_NULL;
  if (!table[number].exists) fail("this rank is not in communicator %d", number);
  return table[number].handle;
}

int rank_in(const struct instruction *instruction) {
  const int number = instruction->communicator;
  if (program.rehearsing || number == 0) return program.rank;
  return table[number].rank;
}

static void keep(int number, MPI_Comm handle) {
  table[number].handle = handle;
  table[number].exists = handle != MPI_COMM_NULL;
  if (table[number].exists) PMPI_Comm_rank(handle, &table[number].rank);
}

void split_communicator(const struct instruction *instruction) {
  if (program.rehearsing) return;
  const int64_t color = instruction->numbers[2], key = instruction->numbers[3];
  MPI_Comm made;
  MPI_Comm_split(communicator_of(instruction), color < 0 ? MPI_UNDEFINED : (int)color, (int)key,
                 &made);
  keep((int)instruction->numbers[1], made);
}

void copy_communicator(const struct instruction *instruction) {
  if (program.rehearsing) return;
  MPI_Comm made;
  MPI_Comm_dup(communicator_of(instruction), &made);
  keep((int)instruction->numbers[1], made);
}

void free_communicator(const struct instruction *instruction) {
  const int number = instruction->communicator;
  if (program.rehearsing || !table[number].exists) return;
  MPI_Comm_free(&table[number].handle);
  table[number].exists = 0;
}

void free_communicators(void) {
  if (program.rehearsing) return;
  for (int number = 1; number < MOST; number++) {
    if (!table[number].exists) continue;
    PMPI_Comm_free(&table[number].handle);
    table[number].exists = 0;
  }
}
