/* The communicators of the trace, by their numbers. */
#ifndef TISIM_COMMUNICATORS_H
#define TISIM_COMMUNICATORS_H

#include <mpi.h>

#include "script.h"

MPI_Comm communicator_of(const struct instruction* instruction);
/* This rank's number in it. */
int rank_in(const struct instruction* instruction);

void split_communicator(const struct instruction* instruction);
void copy_communicator(const struct instruction* instruction);
/* Whoever uses the copy first waits for it. */
void begin_copy(const struct instruction* instruction);
void make_of_group(const struct instruction* instruction);
void free_communicator(const struct instruction* instruction);
/* At the end of a repetition. */
void free_communicators(void);

#endif
