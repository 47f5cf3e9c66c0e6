/* Time that is neither computing nor a call of MPI that a trace has. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

#include "counting.h"

struct costs {
  uint64_t waited; /* nanoseconds in which the thread could have run and had no processor */
  uint64_t faults; /* pages that were not there yet */
};

static uint64_t init; /* nanoseconds in MPI_Init */
static struct costs first;

static struct costs costs_until_now(void) {
  struct costs costs = {0, 0};
  FILE* const file = fopen("/proc/thread-self/schedstat", "r");
  if (file != NULL) {
    if (fscanf(file, "%*u %" SCNu64, &costs.waited) != 1) costs.waited = 0;
    fclose(file);
  }
  struct rusage usage;
  if (getrusage(RUSAGE_THREAD, &usage) == 0) {
    costs.faults = (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
  }
  return costs;
}

void tisim_begin_outside(uint64_t in_init) {
  init = in_init; /* 0: it is in the trace */
  first = costs_until_now();
}

void tisim_note_outside(FILE* notes) {
  const struct costs last = costs_until_now();
  fprintf(notes, "init %" PRIu64 "\nwaited %" PRIu64 "\nfaults %" PRIu64 "\nnoting 1\n", init,
          last.waited - first.waited, last.faults - first.faults);
}
