/* Time that is neither computation nor an MPI call in the trace. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "counting.h"

struct costs {
  uint64_t waited; /* nanoseconds in which the thread was runnable without a processor */
  uint64_t faults; /* page faults */
};

static uint64_t init; /* nanoseconds in MPI_Init */
static struct costs first;
static uint64_t first_memory; /* bytes */

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

/* Returns a number of bytes that the kernel reports for the process by name; 0 if unknown. */
static uint64_t bytes_of_status(const char* name) {
  FILE* const file = fopen("/proc/self/status", "r");
  if (file == NULL) return 0;
  uint64_t found = 0;
  const size_t length = strlen(name);
  for (char line[256]; found == 0 && fgets(line, sizeof line, file) != NULL;) {
    if (strncmp(line, name, length) == 0) found = strtoull(line + length, NULL, 10) << 10;
  }
  fclose(file);
  return found;
}

/* Resets the peak memory to the current use: MPI_Init has used more. */
static void forget_most_memory(void) {
  FILE* const file = fopen("/proc/self/clear_refs", "w");
  if (file == NULL) return;
  fputs("5", file);
  fclose(file);
}

void tisim_begin_overheads(uint64_t in_init) {
  init = in_init; /* 0: it is in the trace */
  first = costs_until_now();
  forget_most_memory();
  first_memory = bytes_of_status("VmRSS:");
}

void tisim_note_overheads(FILE* notes) {
  const struct costs last = costs_until_now();
  const uint64_t memory = bytes_of_status("VmHWM:");
  fprintf(notes,
          "init %" PRIu64 "\nwaited %" PRIu64 "\nfaults %" PRIu64 "\nmemory %" PRIu64
          "\nnoting 1\n",
          init, last.waited - first.waited, last.faults - first.faults,
          memory > first_memory ? memory - first_memory : 0);
}
