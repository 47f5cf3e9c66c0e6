/* Writes traces for tisim from inside another program: the library libtisim_trace.
 *
 * While the program runs, each process records the calls of one rank in bounded memory and to its
 * own file. At the end the parts of all ranks are merged pairwise, in any order, into one trace.
 * The library does not depend on MPI; it needs no C++ run-time library from the program, and no
 * exception leaves it.
 *
 *   tt_rank* rank = tt_rank_open(3, 16, 0, "part-3");
 *   int send = tt_word(rank, "send {} {} {}", 1);      // argument 0 is a rank
 *   tt_compute(rank, 1048576);
 *   tt_call(rank, send, (const int64_t[]){4, 0, 1024});
 *   tt_rank_end(rank);
 *   tt_bytes part = {0};
 *   tt_rank_part(rank, &part);                         // to send to the merging rank
 *   tt_rank_close(rank);
 *
 * The merging rank calls tt_merge for each part and tt_write_trace for the result. Functions on one
 * tt_rank must be called by one thread at a time, and not by a forked child of its owner. Functions
 * that return int return a TT_ status.
 */
#ifndef TISIM_TRACE_H
#define TISIM_TRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __GNUC__
#define TT_API __attribute__((visibility("default")))
#else
#define TT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TT_OK = 0,
  TT_INVALID = -1, /* an argument is invalid */
  TT_FILE = -2,    /* a file cannot be read or written; recording has stopped */
  TT_MEMORY = -3,  /* out of memory; recording has stopped */
  TT_DAMAGED = -4  /* bytes or a file are not as this library wrote them */
};

/* Version of this header's declarations. */
#define TT_INTERFACE 2
TT_API int tt_interface(void);

typedef struct tt_rank tt_rank;

/* Bytes, to be released by tt_free. */
typedef struct tt_bytes {
  void* data;
  size_t size;
} tt_bytes;
TT_API void tt_free(tt_bytes* bytes);

/* Begins to record a rank of a program of `ranks` ranks. `memory` in bytes, 0: 1 MiB. The recording
 * is written to the file `path`, which is created or overwritten; NULL: it stays in memory, beyond
 * that bound. Returns NULL if there is not enough memory. If the file cannot be created, tt_error
 * says so and nothing is recorded. */
TT_API tt_rank* tt_rank_open(uint32_t rank, uint32_t ranks, size_t memory, const char* path);

/* Declares a line of the trace: its text after the rank, with {} for each whole number. Bit i of
 * `rank_arguments` is set if number i is a rank. Returns the word's number for tt_call, above
 * 0, or a status. The word "compute" is predefined: see tt_compute. */
TT_API int tt_word(tt_rank* rank, const char* line, uint64_t rank_arguments);

/* Records a call, with as many numbers as its line has. */
TT_API int tt_call(tt_rank* rank, int word, const int64_t* arguments);

/* Records a computation, in instructions, flops or whatever unit the trace counts. */
TT_API int tt_compute(tt_rank* rank, uint64_t amount);

/* Attributes: data of a call in addition to its line. Calls may have any declared ones; a trace
 * keeps them in a separate section, since text cannot express them. */
enum {
  TT_NUMBER = 0,   /* identifies a call: calls with different values are different. A stream, a
                    * file, a number of threads */
  TT_TEXT = 1,     /* the same; values are numbers of texts. A call site */
  TT_MEASURED = 2, /* varies between calls: a duration, a counter, an offset */
  TT_RANK = 3 /* a rank that varies between calls: the source that a wildcard receive matched */
};

/* Declares an attribute: a small letter, then letters, digits and any of _ . : - up to 64 in all;
 * at most 64 attributes. tisim uses call_site (TT_TEXT, callers first, "main (a.c:3) > solve
 * (b.c:9)") and matched (TT_RANK, the source to use in the line instead of -555). Returns its
 * number, at least 0, or a status. The same name and kind give the same number. */
TT_API int tt_attribute_name(tt_rank* rank, const char* name, int kind);

/* The number of a text; equal texts have the same. Merging ranks merges their texts into one table.
 * Returns a status if texts take too much memory (32 MiB): record the call without it then.
 */
TT_API int64_t tt_text(tt_rank* rank, const char* text);

/* Gives the next tt_call or tt_compute this value, between -2^62 and 2^62. */
TT_API int tt_attribute(tt_rank* rank, int attribute, int64_t value);

/* Gives the next tt_call a value that is not known yet; not for TT_NUMBER and TT_TEXT. Returns a
 * ticket, at least 0, or a status. The call lacks the attribute if tt_attribute_known is never
 * called for the ticket, or only after 65,536 later values are waiting for it. */
TT_API int64_t tt_attribute_later(tt_rank* rank, int attribute);
TT_API int tt_attribute_known(tt_rank* rank, int64_t ticket, int64_t value);

/* Records a comment, the line "# text". At most 1,000 per rank. */
TT_API int tt_comment(tt_rank* rank, const char* text);

/* Writes everything recorded so far to the file, where it survives if the program is killed. */
TT_API int tt_flush(tt_rank* rank);

/* The same, and marks the rank as complete: nothing can be recorded afterwards. */
TT_API int tt_rank_end(tt_rank* rank);

/* Reason why recording stopped, or an empty text. Valid until the next call for this rank. */
TT_API const char* tt_error(const tt_rank* rank);

/* Bytes of memory that recording takes now, and number of calls recorded so far. */
TT_API size_t tt_memory(const tt_rank* rank);
TT_API uint64_t tt_calls(const tt_rank* rank);

/* The log up to the last tt_flush or tt_rank_end, for merging. */
TT_API int tt_rank_part(tt_rank* rank, tt_bytes* part);

/* Ends without further writes: the file keeps its contents. NULL is allowed. */
TT_API void tt_rank_close(tt_rank* rank);

/* Reads the part in a rank's file, even if the rank was killed. */
TT_API int tt_part_of_file(const char* path, tt_bytes* part);

/* Merges two parts, which must have no rank in common. */
TT_API int tt_merge(const tt_bytes* a, const tt_bytes* b, tt_bytes* merged);

/* Writes the trace of a program from its merged parts: the file `path` appears only once it is
 * complete. `first_lines`, if not NULL, are the first lines of rank 0, without the rank, each
 * ending in a newline. `incomplete`, if not NULL, receives the number of ranks that are missing or
 * did not end with tt_rank_end; a comment in the trace lists them. Memory is proportional to the
 * number of calls. */
TT_API int tt_write_trace(const tt_bytes* parts, const char* path, const char* first_lines,
                          uint32_t* incomplete);

#ifdef __cplusplus
}
#endif

#endif
