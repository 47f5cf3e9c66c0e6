/* Where the calls of a rank go. text_sink.c writes lines of text; another writer may replace it.
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
  WORD(init, "") WORD(finalize, "")                                                      \
  WORD(send, "rnn") WORD(ssend, "rnn") WORD(bsend, "rnn") WORD(recv, "rnn")              \
  WORD(isend, "rnn") WORD(issend, "rnn") WORD(ibsend, "rnn") WORD(irecv, "rnn")          \
  WORD(send_init, "rnn") WORD(ssend_init, "rnn") WORD(bsend_init, "rnn")                 \
  WORD(recv_init, "rnn") WORD(start, "") WORD(startall, "")                              \
  WORD(probe, "rn") WORD(iprobe, "rn")                                                   \
  WORD(wait, "") WORD(waitall, "") WORD(waitany, "") WORD(waitsome, "")                  \
  WORD(test, "") WORD(testall, "") WORD(testany, "") WORD(testsome, "")                  \
  WORD(comm_split, "nnnn") WORD(comm_dup, "nn") WORD(comm_free, "n")                     \
  WORD(barrier, "") WORD(ibarrier, "") WORD(bcast, "nrn") WORD(ibcast, "nrn")            \
  WORD(reduce, "nnrn") WORD(ireduce, "nnrn") WORD(allreduce, "nnn")                      \
  WORD(iallreduce, "nnn") WORD(scan, "nnn") WORD(iscan, "nnn") WORD(exscan, "nnn")       \
  WORD(iexscan, "nnn") WORD(reducescatter, "vnn") WORD(ireducescatter, "vnn")            \
  WORD(alltoall, "nnnn") WORD(ialltoall, "nnnn") WORD(alltoallv, "nvnvnn")               \
  WORD(ialltoallv, "nvnvnn") WORD(allgather, "nnnn") WORD(iallgather, "nnnn")            \
  WORD(allgatherv, "nvnn") WORD(iallgatherv, "nvnn") WORD(gather, "nnrnn")               \
  WORD(igather, "nnrnn") WORD(gatherv, "nvrnn") WORD(igatherv, "nvrnn")                  \
  WORD(scatter, "nnrnn") WORD(iscatter, "nnrnn") WORD(scatterv, "vnrnn")                 \
  WORD(iscatterv, "vnrnn")

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
  int64_t source; /* of the message that a receive from any source matched; -1: unknown */
};

typedef struct tisim_sink tisim_sink;

/* Opens the part of a rank in a directory; NULL, with errno set, if that fails. */
tisim_sink *tisim_sink_open(const char *directory, int rank);
/* A line of text that is not an action. */
void tisim_sink_comment(tisim_sink *sink, const char *text);
/* A computation before the next call, in units of the counter. */
void tisim_sink_volume(tisim_sink *sink, uint64_t volume);
void tisim_sink_call(tisim_sink *sink, enum tisim_word word, const int64_t *arguments, size_t count,
                     const struct tisim_named *named);
/* Whether a write has failed; its errno. */
int tisim_sink_error(const tisim_sink *sink);
void tisim_sink_close(tisim_sink *sink);

#endif
