/* Executes the scripts of a trace with real MPI calls.
 *
 * What all files share: the options, this rank, and how to give up. Calls that belong to the
 * executor itself, not to the trace, are PMPI_ ones: recorders and profilers do not see them. */
#ifndef TISIM_EXECUTE_H
#define TISIM_EXECUTE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "vocabulary.h"

enum compute_mode { COMPUTE_NONE, COMPUTE_SLEEP, COMPUTE_SPIN, COMPUTE_INSTRUCTIONS };

struct options {
  const char* scripts; /* directory with rank-N.script */
  const char* results; /* directory for results; NULL: they are printed */
  const char* scratch; /* directory for the files of the trace; NULL: it has none */
  int repetitions;
  int warm_ups; /* repetitions before these, which are not reported */
  enum compute_mode compute;
  double speed; /* units of computation a second */
  bool timeline;
};

struct program {
  struct options options;
  MPI_Comm control; /* a copy of the world for the executor's own calls */
  int rank;
  int ranks;
  /* The script is followed without any call of MPI, to learn what memory it takes. */
  bool rehearsing;
  uint32_t line; /* of the trace, that is executed */
};

extern struct program program;

/* Says what is wrong, with the rank and the line, and ends all ranks. */
_Noreturn void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

#endif
