/* Writes traces for tisim from inside another program: the library libtisim_trace.
 *
 * Each process of the program records the calls of one rank, while they happen, in bounded memory
 * and into a file of its own. At the end the parts of all ranks are merged pairwise, in any order,
 * and become one trace. The library knows nothing of MPI; it needs no C++ run-time library from the
 * program, and no exception leaves it.
 *
 *   tt_rank* rank = tt_rank_open(3, 16, 0, "part-3");
 *   int send = tt_word(rank, "send {} {} {}", 1);      // argument 0 is a rank
 *   tt_compute(rank, 1048576);
 *   tt_call(rank, send, (const int64_t[]){4, 0, 1024});
 *   tt_rank_end(rank);
 *   tt_bytes part = {0};
 *   tt_rank_part(rank, &part);                         // to be sent to the rank that merges
 *   tt_rank_close(rank);
 *
 * The rank that merges calls tt_merge for each part and tt_write_trace for what came of it. All
 * functions of one tt_rank are called by one thread at a time, and not by a process that its owner
 * has forked. Functions that return int return a TT_ status.
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
  TT_INVALID = -1, /* an argument is wrong */
  TT_FILE = -2,    /* a file cannot be read or written; recording has stopped */
  TT_MEMORY = -3,  /* there is no memory; recording has stopped */
  TT_DAMAGED = -4  /* bytes or a file are not what this library has written */
};

/* Changes with what this header declares. */
#define TT_INTERFACE 2
TT_API int tt_interface(void);

typedef struct tt_rank tt_rank;

/* Bytes that tt_free releases. */
typedef struct tt_bytes {
  void* data;
  size_t size;
} tt_bytes;
TT_API void tt_free(tt_bytes* bytes);

/* Begins to record a rank of a program of `ranks` ranks. `memory` in bytes, 0: 1 MiB. What is
 * recorded goes to the file `path`, which is made anew; NULL: it stays in memory, beyond that
 * bound. Returns NULL when there is no memory for it. When the file cannot be made, tt_error says
 * so and nothing is recorded. */
TT_API tt_rank* tt_rank_open(uint32_t rank, uint32_t ranks, size_t memory, const char* path);

/* Declares a line of the trace: its text behind the rank, with {} for each whole number. Bit i of
 * `rank_arguments` says that number i is a rank. Returns the word's number for tt_call, greater
 * than 0, or a status. The word "compute" is there already: see tt_compute. */
TT_API int tt_word(tt_rank* rank, const char* line, uint64_t rank_arguments);

/* The rank makes a call, with as many numbers as its line has. */
TT_API int tt_call(tt_rank* rank, int word, const int64_t* arguments);

/* The rank computes: so many instructions, flops, or what else the trace counts. */
TT_API int tt_compute(tt_rank* rank, uint64_t amount);

/* Attributes: data of a call beside its line. Calls have any of those that were declared; text
 * cannot hold them, a trace keeps them in a section of its own. */
enum {
  TT_NUMBER = 0,   /* a part of what a call is: calls with other values are other calls. A stream, a
                    * file, a number of threads */
  TT_TEXT = 1,     /* the same; values are numbers of texts. A call site */
  TT_MEASURED = 2, /* differs from call to call: a duration, a counter, an offset */
  TT_RANK = 3 /* a rank that differs from call to call: whom a receive from any source matched */
};

/* Declares an attribute: a small letter, then letters, digits and any of _ . : - up to 64 in all;
 * at most 64 attributes. tisim knows call_site (TT_TEXT, callers first, "main (a.c:3) > solve
 * (b.c:9)") and matched (TT_RANK, what would stand in the line instead of -555). Returns its
 * number, at least 0, or a status. The same name and kind give the same number. */
TT_API int tt_attribute_name(tt_rank* rank, const char* name, int kind);

/* The number of a text; equal texts have the same. Texts of ranks that are merged become one table.
 * Returns a status when they take too much memory (32 MiB): the call is recorded without it then.
 */
TT_API int64_t tt_text(tt_rank* rank, const char* text);

/* The next tt_call or tt_compute has this value, between -2^62 and 2^62. */
TT_API int tt_attribute(tt_rank* rank, int attribute, int64_t value);

/* The next tt_call has a value that is not known yet; not for TT_NUMBER and TT_TEXT. Returns a
 * ticket, at least 0, or a status. When 65,536 later values wait for one, it stays unknown: then,
 * and when tt_attribute_known is never called for it, the call does not have the attribute. */
TT_API int64_t tt_attribute_later(tt_rank* rank, int attribute);
TT_API int tt_attribute_known(tt_rank* rank, int64_t ticket, int64_t value);

/* A comment, the line "# text". At most 1,000 a rank. */
TT_API int tt_comment(tt_rank* rank, const char* text);

/* Writes what was recorded so far: all of it is in the file even if the program is killed. */
TT_API int tt_flush(tt_rank* rank);

/* The same, and marks the rank as complete: nothing is recorded after it. */
TT_API int tt_rank_end(tt_rank* rank);

/* Why recording has stopped, or an empty text. Lives until the next call for this rank. */
TT_API const char* tt_error(const tt_rank* rank);

/* The bytes that recording takes now, and calls recorded so far. */
TT_API size_t tt_memory(const tt_rank* rank);
TT_API uint64_t tt_calls(const tt_rank* rank);

/* The log up to tt_flush or tt_rank_end, to be merged. */
TT_API int tt_rank_part(tt_rank* rank, tt_bytes* part);

/* Ends without a further write: the file keeps what it has. NULL is allowed. */
TT_API void tt_rank_close(tt_rank* rank);

/* The part in the file of a rank, even of one that was killed. */
TT_API int tt_part_of_file(const char* path, tt_bytes* part);

/* Both parts as one. They must have no rank in common. */
TT_API int tt_merge(const tt_bytes* a, const tt_bytes* b, tt_bytes* merged);

/* Writes the trace of a program from its merged parts: the file `path` appears when all of it is
 * written. `first_lines`, if not NULL, are lines that rank 0 begins with, without the rank, each
 * with a newline at its end. `incomplete`, if not NULL, becomes the number of ranks that are
 * missing or did not end with tt_rank_end; the trace says which in a comment. Takes memory in
 * proportion to the calls. */
TT_API int tt_write_trace(const tt_bytes* parts, const char* path, const char* first_lines,
                          uint32_t* incomplete);

#ifdef __cplusplus
}
#endif

#endif
