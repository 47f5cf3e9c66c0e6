/* Where in the program its computations are: call paths, sampled by a timer. */
#ifndef TISIM_SAMPLES_H
#define TISIM_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "sink.h"

/* Begins to sample the calling thread, into the file DIRECTORY/rank-N.samples. Comments about
 * modules go to the sink. */
void tisim_begin_samples(tisim_sink *sink, const char *directory, int rank);
/* Before call number `call` of the rank is written, in a call of MPI: writes what was sampled since
 * the one before. */
void tisim_write_samples(uint64_t call);
void tisim_end_samples(void);
/* Around what a thread computes in a parallel region. The first returns what the second needs. */
bool tisim_begin_region_samples(void);
void tisim_end_region_samples(bool before);

#endif
