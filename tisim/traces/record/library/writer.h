/* Where the calls of a rank go: into a compressed part, or into lines of text (text_part.c) where
 * libtisim_trace cannot be loaded.
 *
 * A writer belongs to one rank. A write that fails (a full disk, a quota) makes it inactive: the
 * program goes on, and what follows is not recorded.
 */
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

/* Calls of MPI-IO, and those of POSIX beneath them, where both are recorded: `layer=` says which.
 */
enum tisim_layer { TISIM_ALL_LAYERS, TISIM_LAYER_MPI, TISIM_LAYER_POSIX };

/* The named arguments of a call. */
struct tisim_named {
  int64_t comm;            /* 0: the world */
  int64_t request;         /* the request that it makes or waits for; -1: none */
  const int64_t* requests; /* those that it waits for; NULL: not a list */
  size_t request_count;
  const int64_t* completed; /* those of the list that a waitany or waitsome completed, or NULL */
  size_t completed_count;
  bool is_any;     /* a receive from any source, which is told later: tisim_writer_matched */
  int64_t source;  /* of the message that a receive from any source matched; -1: unknown */
  int64_t threads; /* of a computation of several: how many, and what all of them did */
  int64_t sum;
  const char* text; /* words behind the numbers, without braces: of calls on files; NULL: none */
  int64_t size;     /* of a file that is opened; -1: unknown */
  enum tisim_layer layer;
};

#define TISIM_MOST_TEXTS 32 /* of calls without a line before one that has one */

/* One call of a rank. */
struct tisim_call {
  enum tisim_word word;
  const int64_t* arguments;
  size_t count;
  const struct tisim_named* named;
  int64_t call_site; /* the number of a text that the writer has given; -1: unknown */
  int64_t duration;  /* of the call of MPI, in nanoseconds; -1: unknown */
  int64_t layer;     /* the text of the functions of libraries that make it; -1: none */
  int64_t given;     /* the text of what the function of MPI is given; -1: none */
  /* The texts of the calls before it that have no line. */
  const int64_t* before;
  size_t before_count;
};

typedef struct tisim_writer tisim_writer;

/* Opens the part of a rank, written by libtisim_trace where it `is_compressed`; NULL, with errno
 * set, if that fails. `memory` bounds what recording takes, 0: the library's own bound. A part of
 * `most_bytes` is not continued, 0: any size. Text knows neither bound. */
tisim_writer* tisim_open_writer(const char* path, bool is_compressed, int rank, int ranks,
                                size_t memory, uint64_t most_bytes);
/* A line of text that is not an action. */
void tisim_writer_comment(tisim_writer* writer, const char* text);
/* The number of a text that attributes of calls may have; -1 if the part keeps no attributes. */
int64_t tisim_writer_text(tisim_writer* writer, const char* text);
/* The number of a counter beside that of the volumes; -1 if the part keeps no attributes. */
int64_t tisim_writer_count_name(tisim_writer* writer, const char* name);
/* The count of the counter with this number for the computation that is written next. */
void tisim_writer_count(tisim_writer* writer, int64_t number, int64_t count);
/* A computation before the next call, in units of the counter. */
void tisim_writer_volume(tisim_writer* writer, uint64_t volume);
/* Returns a ticket for the source of a receive from any; -1: none is needed. */
int64_t tisim_writer_call(tisim_writer* writer, const struct tisim_call* call);
/* The receive that has this ticket has matched a message of this source. */
void tisim_writer_matched(tisim_writer* writer, int64_t ticket, int64_t source);
/* Why nothing more is written; NULL if a write never failed. */
const char* tisim_writer_error(const tisim_writer* writer);
/* `is_complete`: the rank did all it was to do. */
void tisim_writer_close(tisim_writer* writer, bool is_complete);

#endif
