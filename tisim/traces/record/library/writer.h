/* The destination of a rank's calls: a compressed part, or lines of text (text_part.c) if
 * libtisim_trace cannot be loaded.
 *
 * A writer belongs to one rank. A failed write (a full disk, a quota) makes it inactive: the
 * program continues, and further calls are not recorded. */
#ifndef TISIM_WRITER_H
#define TISIM_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "words.h"

enum tisim_word {
#define TISIM_ENUMERATOR(name, roles, alone, is_collective) TISIM_##name,
  TISIM_WORDS(TISIM_ENUMERATOR)
#undef TISIM_ENUMERATOR
};

/* MPI-IO calls, and the POSIX calls beneath them, if both are recorded: `layer=` distinguishes
 * them. */
enum tisim_layer { TISIM_ALL_LAYERS, TISIM_LAYER_MPI, TISIM_LAYER_POSIX };

/* The named arguments of a call. */
struct tisim_named {
  int64_t comm;            /* 0: the world */
  int64_t request;         /* the request that it creates or waits for; -1: none */
  const int64_t* requests; /* those that it waits for; NULL: not a list */
  size_t request_count;
  const int64_t* completed; /* those of the list completed by a waitany or waitsome, or NULL */
  size_t completed_count;
  bool is_any;     /* a receive from any source, reported later by tisim_writer_matched */
  int64_t source;  /* of the message matched by a receive from any source; -1: unknown */
  int64_t threads; /* of a computation: their number, and the sum of their volumes */
  int64_t sum;
  const char* text; /* words after the numbers, without braces, for calls on files; NULL: none */
  int64_t size;     /* of an opened file; -1: unknown */
  enum tisim_layer layer;
};

#define TISIM_MOST_TEXTS 32 /* of calls without a line before a call with one */

/* One call of a rank. */
struct tisim_call {
  enum tisim_word word;
  const int64_t* arguments;
  size_t count;
  const struct tisim_named* named;
  int64_t call_site; /* number of a text of the writer; -1: unknown */
  int64_t duration;  /* of the MPI call, in nanoseconds; -1: unknown */
  int64_t layer;     /* text of the library functions that make it; -1: none */
  int64_t given;     /* text of the MPI function's arguments; -1: none */
  /* Texts of the preceding calls without lines. */
  const int64_t* before;
  size_t before_count;
};

typedef struct tisim_writer tisim_writer;

/* Opens the part of a rank, through libtisim_trace if it `is_compressed`; returns NULL, with errno
 * set, on failure. `memory` bounds the recording's memory, 0: the library's default. A part of
 * `most_bytes` is not continued, 0: unlimited. Text parts ignore both bounds. */
tisim_writer* tisim_open_writer(const char* path, bool is_compressed, int rank, int ranks,
                                size_t memory, uint64_t most_bytes);
/* Writes a line of text that is not an action. */
void tisim_writer_comment(tisim_writer* writer, const char* text);
/* Returns the number of a text for use in attributes; -1 if the part has no attributes. */
int64_t tisim_writer_text(tisim_writer* writer, const char* text);
/* Returns the number of an additional counter; -1 if the part has no attributes. */
int64_t tisim_writer_count_name(tisim_writer* writer, const char* name);
/* Sets the count of the counter with this number for the next computation. */
void tisim_writer_count(tisim_writer* writer, int64_t number, int64_t count);
/* Writes a computation before the next call, in units of the counter. */
void tisim_writer_volume(tisim_writer* writer, uint64_t volume);
/* Returns a ticket for the source of a receive from any source; -1 if not needed. */
int64_t tisim_writer_call(tisim_writer* writer, const struct tisim_call* call);
/* Reports the source of the message matched by the receive with this ticket. */
void tisim_writer_matched(tisim_writer* writer, int64_t ticket, int64_t source);
/* Returns why nothing more is written; NULL if no write failed. */
const char* tisim_writer_error(const tisim_writer* writer);
/* `is_complete`: the rank ended normally. */
void tisim_writer_close(tisim_writer* writer, bool is_complete);

#endif
