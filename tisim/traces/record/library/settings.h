/* What the user asks of the recorder, by variables of the environment. */
#ifndef TISIM_SETTINGS_H
#define TISIM_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tisim_settings {
  const char *directory;     /* of the parts; NULL: nothing is recorded */
  const char *output;        /* the trace that the ranks merge their parts into; NULL: they do not */
  const char *trace_library; /* libtisim_trace; NULL: parts are text */
  const char *counter;
  const char *further_counters; /* those beside it; NULL: none */
  double reference_speed;
  bool keeps_failed_tests;
  bool has_call_sites; /* calls say where in the program they are made */
  bool has_samples;    /* call paths of the computation are sampled */
  bool has_times;    /* calls say how long they take */
  bool has_timeline; /* and when they began and ended */
  bool has_mpi_io;   /* the calls of MPI-IO are recorded */
  bool is_posix_only; /* what MPI-IO does is recorded in the words of POSIX */
  size_t memory;       /* bytes a rank; 0: the library's own bound */
  uint64_t most_bytes; /* of all parts; 0: any size */
  const char *ranks;   /* those that are recorded, "0-3,7"; NULL: all */
};

struct tisim_settings tisim_read_settings(void);
/* Whether a rank is in a list such as "0-3,7". */
bool tisim_is_listed(const char *ranks, int rank);

#endif
