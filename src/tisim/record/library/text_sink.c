/* A sink that writes one file of text a rank. */
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_SIZE (1 << 16)
/* No word, number or named argument is longer than this, with its blank. */
#define LONGEST_ITEM 64
#define SECONDS_BETWEEN_FLUSHES 1

struct tisim_sink {
  int file;
  int error;
  pid_t owner; /* a child of the program that forks must not write what its parent has buffered */
  time_t flushed;
  size_t used;
  size_t rank_length;
  char rank[16]; /* the first word of each line, with its blank */
  char buffer[BUFFER_SIZE];
};

static const char *const word_names[] = {
#define NAME(name, roles) #name,
    TISIM_WORDS(NAME)
#undef NAME
};

static time_t coarse_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec;
}

tisim_sink *tisim_sink_open(const char *directory, int rank) {
  char path[4096];
  const int length = snprintf(path, sizeof path, "%s/rank-%d.txt", directory, rank);
  if (length < 0 || (size_t)length >= sizeof path) {
    errno = ENAMETOOLONG;
    return NULL;
  }
  const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return NULL;
  tisim_sink *const sink = malloc(sizeof *sink);
  if (sink == NULL) {
    close(file);
    errno = ENOMEM;
    return NULL;
  }
  sink->file = file;
  sink->error = 0;
  sink->owner = getpid();
  sink->flushed = coarse_seconds();
  sink->used = 0;
  sink->rank_length = (size_t)snprintf(sink->rank, sizeof sink->rank, "%d ", rank);
  return sink;
}

void tisim_sink_flush(tisim_sink *sink) {
  if (getpid() != sink->owner) {
    sink->used = 0;
    return;
  }
  size_t done = 0;
  while (sink->error == 0 && done < sink->used) {
    const ssize_t written = write(sink->file, sink->buffer + done, sink->used - done);
    if (written >= 0) {
      done += (size_t)written;
    } else if (errno != EINTR) {
      sink->error = errno;
    }
  }
  sink->used = 0;
}

static void reserve(tisim_sink *sink, size_t size) {
  if (sink->used + size > BUFFER_SIZE) tisim_sink_flush(sink);
}

static void put_text(tisim_sink *sink, const char *text, size_t length) {
  memcpy(sink->buffer + sink->used, text, length);
  sink->used += length;
}

static void put_number(tisim_sink *sink, int64_t number) {
  char digits[24];
  char *begin = digits + sizeof digits;
  uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  do {
    *--begin = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (number < 0) *--begin = '-';
  put_text(sink, begin, (size_t)(digits + sizeof digits - begin));
}

static void put_named(tisim_sink *sink, const char *name, int64_t number) {
  reserve(sink, LONGEST_ITEM);
  put_text(sink, name, strlen(name));
  put_number(sink, number);
}

void tisim_sink_comment(tisim_sink *sink, const char *text) {
  size_t length = strlen(text);
  if (length > BUFFER_SIZE / 2) length = BUFFER_SIZE / 2;
  reserve(sink, length + 3);
  put_text(sink, "# ", 2);
  put_text(sink, text, length);
  put_text(sink, "\n", 1);
}

void tisim_sink_volume(tisim_sink *sink, uint64_t volume) {
  reserve(sink, LONGEST_ITEM);
  put_text(sink, sink->rank, sink->rank_length);
  put_text(sink, "compute ", 8);
  put_number(sink, (int64_t)(volume >> 63 ? INT64_MAX : (int64_t)volume));
  put_text(sink, "\n", 1);
}

void tisim_sink_call(tisim_sink *sink, enum tisim_word word, const int64_t *arguments, size_t count,
                     const struct tisim_named *named) {
  reserve(sink, LONGEST_ITEM);
  put_text(sink, sink->rank, sink->rank_length);
  put_text(sink, word_names[word], strlen(word_names[word]));
  for (size_t i = 0; i < count; ++i) {
    put_named(sink, " ", arguments[i]);
  }
  if (named->comm != 0) put_named(sink, " comm=", named->comm);
  if (named->request >= 0) put_named(sink, " request=", named->request);
  for (size_t i = 0; i < named->request_count; ++i) {
    put_named(sink, i == 0 ? " requests=" : ",", named->requests[i]);
  }
  if (named->source >= 0) put_named(sink, " # source=", named->source);
  reserve(sink, 1);
  put_text(sink, "\n", 1);
  const time_t now = coarse_seconds();
  if (now - sink->flushed >= SECONDS_BETWEEN_FLUSHES) {
    sink->flushed = now;
    tisim_sink_flush(sink);
  }
}

int tisim_sink_error(const tisim_sink *sink) { return sink->error; }

void tisim_sink_close(tisim_sink *sink) {
  tisim_sink_flush(sink);
  close(sink->file);
  free(sink);
}
