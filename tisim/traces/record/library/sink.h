/* Where the calls of a rank go: into a compressed part (trace_sink.c), or into lines of text
 * (text_sink.c) where libtisim_trace cannot be loaded.
 *
 * A sink belongs to one rank. A write that fails (a full disk, a quota) makes it inactive: the
 * program goes on, and what follows is not recorded.
 */
#ifndef TISIM_SINK_H
#define TISIM_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "words.h"

enum tisim_word {
#define TISIM_ENUMERATOR(name, roles) TISIM_##name,
  TISIM_WORDS(TISIM_ENUMERATOR)
#undef TISIM_ENUMERATOR
};

/* Calls of MPI-IO, and those of POSIX beneath them, where both are recorded: `layer=` says which.
 */
enum tisim_layer { TISIM_ALL_LAYERS, TISIM_LAYER_MPI, TISIM_LAYER_POSIX };
static inline const char* tisim_layer_text(enum tisim_layer layer) {
  return layer == TISIM_ALL_LAYERS ? "" : layer == TISIM_LAYER_MPI ? " layer=mpi" : " layer=posix";
}

/* The named arguments of a call. */
struct tisim_named {
  int64_t comm;            /* 0: the world */
  int64_t request;         /* the request that it makes or waits for; -1: none */
  const int64_t* requests; /* those that it waits for; NULL: not a list */
  size_t request_count;
  const int64_t* completed; /* those of the list that a waitany or waitsome completed, or NULL */
  size_t completed_count;
  bool is_any;     /* a receive from any source, which is told later: tisim_sink_matched */
  int64_t source;  /* of the message that a receive from any source matched; -1: unknown */
  int64_t threads; /* of a computation of several: how many, and what all of them did */
  int64_t sum;
  const char* text; /* words behind the numbers, without braces: of calls on files; NULL: none */
  int64_t size;     /* of a file that is opened; -1: unknown */
  enum tisim_layer layer;
};

/* One call of a rank. */
struct tisim_call {
  enum tisim_word word;
  const int64_t* arguments;
  size_t count;
  const struct tisim_named* named;
  int64_t call_site; /* the number of a text that the sink has given; -1: unknown */
  int64_t duration;  /* of the call of MPI, in nanoseconds; -1: unknown */
  int64_t layer;     /* the text of the functions of libraries that make it; -1: none */
  int64_t given;     /* the text of what the function of MPI is given; -1: none */
};

/* The functions of a sink. The functions below call these. */
typedef struct tisim_sink tisim_sink;
struct tisim_sink {
  void (*comment)(tisim_sink* sink, const char* text);
  int64_t (*text)(tisim_sink* sink, const char* text);
  int64_t (*count_name)(tisim_sink* sink, const char* name);
  void (*count)(tisim_sink* sink, int64_t number, int64_t count);
  void (*volume)(tisim_sink* sink, uint64_t volume);
  int64_t (*call)(tisim_sink* sink, const struct tisim_call* call);
  void (*matched)(tisim_sink* sink, int64_t ticket, int64_t source);
  const char* (*error)(const tisim_sink* sink);
  void (*close)(tisim_sink* sink, bool is_complete);
};

/* Opens the part of a rank, DIRECTORY/rank-N.txt, as text; NULL, with errno set, if that fails. */
tisim_sink* tisim_open_text_sink(const char* directory, int rank);

/* Opens the part of a rank, DIRECTORY/rank-N.part, written by libtisim_trace. `memory` bounds what
 * recording takes, 0: the library's own bound. A part of `most_bytes` is not continued, 0: any
 * size. Needs tisim_load_trace_library. */
tisim_sink* tisim_open_trace_sink(const char* directory, int rank, int ranks, size_t memory,
                                  uint64_t most_bytes);

/* A line of text that is not an action. */
static inline void tisim_sink_comment(tisim_sink* sink, const char* text) {
  sink->comment(sink, text);
}
/* The number of a text that attributes of calls may have; -1 if the sink keeps no attributes. */
static inline int64_t tisim_sink_text(tisim_sink* sink, const char* text) {
  return sink->text(sink, text);
}
/* The number of a counter beside that of the volumes; -1 if the sink keeps no attributes. */
static inline int64_t tisim_sink_count_name(tisim_sink* sink, const char* name) {
  return sink->count_name(sink, name);
}
/* The count of the counter with this number for the computation that is written next. */
static inline void tisim_sink_count(tisim_sink* sink, int64_t number, int64_t count) {
  sink->count(sink, number, count);
}
/* A computation before the next call, in units of the counter. */
static inline void tisim_sink_volume(tisim_sink* sink, uint64_t volume) {
  sink->volume(sink, volume);
}
/* Returns a ticket for the source of a receive from any; -1: none is needed. */
static inline int64_t tisim_sink_call(tisim_sink* sink, const struct tisim_call* call) {
  return sink->call(sink, call);
}
/* The receive that has this ticket has matched a message of this source. */
static inline void tisim_sink_matched(tisim_sink* sink, int64_t ticket, int64_t source) {
  sink->matched(sink, ticket, source);
}
/* Why nothing more is written; NULL if a write never failed. */
static inline const char* tisim_sink_error(const tisim_sink* sink) { return sink->error(sink); }
/* `is_complete`: the rank did all it was to do. */
static inline void tisim_sink_close(tisim_sink* sink, bool is_complete) {
  sink->close(sink, is_complete);
}

#endif
