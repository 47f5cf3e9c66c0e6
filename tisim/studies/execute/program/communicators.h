/* The communicators of the trace, by their numbers. */
#ifndef TISIM_COMMUNICATORS_H
#define TISIM_COMMUNICATORS_H

#include <mpi.h>

#include "script.h"

MPI_Comm communicator_of(const struct instruction* instruction);
/* This rank's number in it. */
int rank_in(const struct instruction* instruction);
/* The same ranks with these neighbours, which all ranks make in the first call that needs it. */
MPI_Comm topology_of(const struct instruction* instruction, int destinations,
                     const int* destination, int sources, const int* source);

/* Whoever first uses a copy that was made without blocking waits for it. */
void make_communicator(const struct instruction* instruction);
void free_communicator(const struct instruction* instruction);
/* At the end of a repetition. */
void free_communicators(void);

#endif
