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

/* WORD(name, roles): the actions that the recorder writes. The roles of their arguments: r a rank,
 * n a number, v as many numbers as the communicator has ranks. */
#define TISIM_WORDS(WORD)                                                                \
  WORD(init, "") WORD(finalize, "") WORD(compute, "n")                                   \
  WORD(send, "rnn") WORD(ssend, "rnn") WORD(bsend, "rnn") WORD(recv, "rnn")              \
  WORD(isend, "rnn") WORD(issend, "rnn") WORD(ibsend, "rnn") WORD(irecv, "rnn")          \
  WORD(send_init, "rnn") WORD(ssend_init, "rnn") WORD(bsend_init, "rnn")                 \
  WORD(recv_init, "rnn") WORD(start, "") WORD(startall, "")                              \
  WORD(probe, "rn") WORD(iprobe, "rn")                                                   \
  WORD(cancel, "") WORD(request_free, "")                                                \
  WORD(wait, "") WORD(waitall, "") WORD(waitany, "") WORD(waitsome, "")                  \
  WORD(test, "") WORD(testall, "") WORD(testany, "") WORD(testsome, "")                  \
  WORD(comm_split, "nnnn") WORD(comm_dup, "nn") WORD(comm_idup, "nn")                    \
  WORD(comm_group, "nv") WORD(comm_free, "n")                                            \
  WORD(barrier, "") WORD(ibarrier, "") WORD(bcast, "nrn") WORD(ibcast, "nrn")            \
  WORD(reduce, "nnrn") WORD(ireduce, "nnrn") WORD(allreduce, "nnn")                      \
  WORD(iallreduce, "nnn") WORD(scan, "nnn") WORD(iscan, "nnn") WORD(exscan, "nnn")       \
  WORD(iexscan, "nnn") WORD(reducescatter, "vnn") WORD(ireducescatter, "vnn")            \
  WORD(alltoall, "nnnn") WORD(ialltoall, "nnnn") WORD(alltoallv, "nvnvnn")               \
  WORD(ialltoallv, "nvnvnn") WORD(allgather, "nnnn") WORD(iallgather, "nnnn")            \
  WORD(allgatherv, "nvnn") WORD(iallgatherv, "nvnn") WORD(gather, "nnrnn")               \
  WORD(igather, "nnrnn") WORD(gatherv, "nvrnn") WORD(igatherv, "nvrnn")                  \
  WORD(scatter, "nnrnn") WORD(iscatter, "nnrnn") WORD(scatterv, "vnrnn")                 \
  WORD(iscatterv, "vnrnn")                                                               \
  WORD(open, "n") WORD(close, "n") WORD(read, "nn") WORD(write, "nn")                    \
  WORD(pread, "nnn") WORD(pwrite, "nnn") WORD(lseek, "nn") WORD(fsync, "n")              \
  WORD(stat, "") WORD(unlink, "") WORD(mkdir, "")                                        \
  WORD(file_open, "n") WORD(file_close, "n") WORD(file_read, "nn") WORD(file_write, "nn") \
  WORD(file_read_at, "nnn") WORD(file_write_at, "nnn") WORD(file_read_all, "nn")         \
  WORD(file_write_all, "nn") WORD(file_read_at_all, "nnn") WORD(file_write_at_all, "nnn") \
  WORD(file_read_shared, "nn") WORD(file_write_shared, "nn")                             \
  WORD(file_read_ordered, "nn") WORD(file_write_ordered, "nn") WORD(file_seek, "nn")     \
  WORD(file_seek_shared, "nn") WORD(file_sync, "n") WORD(file_set_view, "nv")             \
  WORD(file_set_size, "nn") WORD(file_preallocate, "nn")                                 \
  WORD(file_iread, "nn") WORD(file_iwrite, "nn") WORD(file_iread_at, "nnn")              \
  WORD(file_iwrite_at, "nnn") WORD(file_iread_all, "nn") WORD(file_iwrite_all, "nn")     \
  WORD(file_iread_at_all, "nnn") WORD(file_iwrite_at_all, "nnn")                         \
  WORD(file_iread_shared, "nn") WORD(file_iwrite_shared, "nn")                   \
  WORD(file_read_all_begin, "nn") WORD(file_write_all_begin, "nn")                       \
  WORD(file_read_at_all_begin, "nnn") WORD(file_write_at_all_begin, "nnn")               \
  WORD(file_read_ordered_begin, "nn") WORD(file_write_ordered_begin, "nn")               \
  WORD(file_read_all_end, "n") WORD(file_write_all_end, "n")                             \
  WORD(file_read_at_all_end, "n") WORD(file_write_at_all_end, "n")                       \
  WORD(file_read_ordered_end, "n") WORD(file_write_ordered_end, "n")

enum tisim_word {
#define TISIM_ENUMERATOR(name, roles) TISIM_##name,
  TISIM_WORDS(TISIM_ENUMERATOR)
#undef TISIM_ENUMERATOR
};

/* The named arguments of a call. */
struct tisim_named {
  int64_t comm;            /* 0: the world */
  int64_t request;         /* the request that it makes or waits for; -1: none */
  const int64_t *requests; /* those that it waits for; NULL: not a list */
  size_t request_count;
  bool is_any;    /* a receive from any source, which is told later: tisim_sink_matched */
  int64_t source; /* of the message that a receive from any source matched; -1: unknown */
  int64_t threads; /* of a computation of several: how many, and what all of them did */
  int64_t sum;
  const char *text; /* words behind the numbers, without braces: of calls on files; NULL: none */
  int64_t size;     /* of a file that is opened; -1: unknown */
};

/* One call of a rank. */
struct tisim_call {
  enum tisim_word word;
  const int64_t *arguments;
  size_t count;
  const struct tisim_named *named;
  int64_t call_site; /* the number of a text that the sink has given; -1: unknown */
  int64_t duration;  /* of the call of MPI, in nanoseconds; -1: unknown */
};

/* What a sink does. The functions below call these. */
typedef struct tisim_sink tisim_sink;
struct tisim_sink {
  void (*comment)(tisim_sink *sink, const char *text);
  int64_t (*text)(tisim_sink *sink, const char *text);
  int64_t (*count_name)(tisim_sink *sink, const char *name);
  void (*count)(tisim_sink *sink, int64_t number, int64_t count);
  void (*volume)(tisim_sink *sink, uint64_t volume);
  int64_t (*call)(tisim_sink *sink, const struct tisim_call *call);
  void (*matched)(tisim_sink *sink, int64_t ticket, int64_t source);
  const char *(*error)(const tisim_sink *sink);
  void (*close)(tisim_sink *sink, bool is_complete);
};

/* Opens the part of a rank, DIRECTORY/rank-N.txt, as text; NULL, with errno set, if that fails. */
tisim_sink *tisim_open_text_sink(const char *directory, int rank);

/* Opens the part of a rank, DIRECTORY/rank-N.part, written by libtisim_trace. `memory` bounds what
 * recording takes, 0: the library's own bound. A part of `most_bytes` is not continued, 0: any size.
 * Needs tisim_load_trace_library. */
tisim_sink *tisim_open_trace_sink(const char *directory, int rank, int ranks, size_t memory,
                                  uint64_t most_bytes);

/* A line of text that is not an action. */
static inline void tisim_sink_comment(tisim_sink *sink, const char *text) {
  sink->comment(sink, text);
}
/* The number of a text that attributes of calls may have; -1 if the sink keeps no attributes. */
static inline int64_t tisim_sink_text(tisim_sink *sink, const char *text) {
  return sink->text(sink, text);
}
/* The number of a counter beside that of the volumes; -1 if the sink keeps no attributes. */
static inline int64_t tisim_sink_count_name(tisim_sink *sink, const char *name) {
  return sink->count_name(sink, name);
}
/* Of the computation that is written next, what the counter with this number has counted. */
static inline void tisim_sink_count(tisim_sink *sink, int64_t number, int64_t count) {
  sink->count(sink, number, count);
}
/* A computation before the next call, in units of the counter. */
static inline void tisim_sink_volume(tisim_sink *sink, uint64_t volume) {
  sink->volume(sink, volume);
}
/* Returns a ticket for the source of a receive from any; -1: none is needed. */
static inline int64_t tisim_sink_call(tisim_sink *sink, const struct tisim_call *call) {
  return sink->call(sink, call);
}
/* The receive that has this ticket has matched a message of this source. */
static inline void tisim_sink_matched(tisim_sink *sink, int64_t ticket, int64_t source) {
  sink->matched(sink, ticket, source);
}
/* Why nothing more is written; NULL if a write never failed. */
static inline const char *tisim_sink_error(const tisim_sink *sink) { return sink->error(sink); }
/* `is_complete`: the rank did all it was to do. */
static inline void tisim_sink_close(tisim_sink *sink, bool is_complete) {
  sink->close(sink, is_complete);
}

#endif
