/* libtisim_trace, loaded at run time: a recorded program does not depend on it, and on a host where
 * it cannot be loaded the parts are text. */
#ifndef TISIM_TRACE_LIBRARY_H
#define TISIM_TRACE_LIBRARY_H

#include <stdbool.h>

#include "tisim_trace.h"

/* FUNCTION(result, name, parameters): the functions used by the recorder. */
#define TISIM_TRACE_FUNCTIONS(FUNCTION)                                              \
  FUNCTION(int, interface, (void))                                                   \
  FUNCTION(tt_rank*, rank_open, (uint32_t, uint32_t, size_t, const char*))           \
  FUNCTION(int, word, (tt_rank*, const char*, uint64_t))                             \
  FUNCTION(int, call, (tt_rank*, int, const int64_t*))                               \
  FUNCTION(int, compute, (tt_rank*, uint64_t))                                       \
  FUNCTION(int, attribute_name, (tt_rank*, const char*, int))                        \
  FUNCTION(int, attribute, (tt_rank*, int, int64_t))                                 \
  FUNCTION(int64_t, attribute_later, (tt_rank*, int))                                \
  FUNCTION(int, attribute_known, (tt_rank*, int64_t, int64_t))                       \
  FUNCTION(int64_t, text, (tt_rank*, const char*))                                   \
  FUNCTION(int, comment, (tt_rank*, const char*))                                    \
  FUNCTION(int, flush, (tt_rank*))                                                   \
  FUNCTION(int, rank_end, (tt_rank*))                                                \
  FUNCTION(const char*, error, (const tt_rank*))                                     \
  FUNCTION(void, rank_close, (tt_rank*))                                             \
  FUNCTION(int, part_of_file, (const char*, tt_bytes*))                              \
  FUNCTION(int, merge, (const tt_bytes*, const tt_bytes*, tt_bytes*))                \
  FUNCTION(int, write_trace, (const tt_bytes*, const char*, const char*, uint32_t*)) \
  FUNCTION(void, free, (tt_bytes*))

struct tisim_trace_library {
#define TISIM_MEMBER(result, name, parameters) result(*name) parameters;
  TISIM_TRACE_FUNCTIONS(TISIM_MEMBER)
#undef TISIM_MEMBER
};

/* Loads the library; returns false, after a message, on failure. */
bool tisim_load_trace_library(const char* path);
/* Its functions, once it is loaded. */
extern struct tisim_trace_library tisim_trace;
/* The same for text parts, whose calls have no attributes: it lacks the functions that set these,
 * and those for whole parts. */
extern const struct tisim_trace_library tisim_text;

/* Merging of the parts of all ranks into one trace, by the ranks at the end of the program. */

/* After MPI_Init, on all ranks: creates the communicator over which parts are sent. */
void tisim_prepare_merge(void);
/* Before MPI_Finalize, on all ranks. `part` is the file of this rank's part; NULL if it has none.
 * The trace is written to `output`, and the files are removed; on failure they stay. The trace of a
 * program with calls that it cannot express begins with lines that name them. */
void tisim_merge(const char* part, const char* output);

#endif
