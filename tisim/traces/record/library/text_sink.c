/* A sink that writes one file of text a rank.
 *
 * The end of the file is mapped into memory, a window at a time. So nothing is lost when the
 * program is killed: the kernel has every line that was put there. The disk space of a window is
 * reserved before it is used; a full disk is an error then, not a signal later. Until the sink is
 * closed, zeros fill the rest of the window. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sink.h"

/* A multiple of all sizes of pages. */
#define WINDOW_SIZE (1 << 18)

struct text_sink {
  tisim_sink functions;
  int file;
  int error;
  char* window; /* NULL before the first */
  off_t window_begin;
  size_t used; /* of the window */
  size_t rank_length;
  char rank[16]; /* the first word of each line, with its blank */
};

static const char* const word_names[] = {
#define NAME(name, roles) #name,
    TISIM_WORDS(NAME)
#undef NAME
};

/* Maps the part of the file that begins at `begin`. */
static void map_window(struct text_sink* sink, off_t begin) {
  sink->error = posix_fallocate(sink->file, begin, WINDOW_SIZE);
  if (sink->error != 0) return;
  void* const mapped =
      mmap(NULL, WINDOW_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, sink->file, begin);
  if (mapped == MAP_FAILED) {
    sink->error = errno;
    return;
  }
  sink->window = mapped;
  sink->window_begin = begin;
}

static void unmap_window(struct text_sink* sink) {
  if (sink->window != NULL) munmap(sink->window, WINDOW_SIZE);
  sink->window = NULL;
}

static void next_window(struct text_sink* sink) {
  const bool is_first = sink->window == NULL;
  const off_t begin = is_first ? 0 : sink->window_begin + WINDOW_SIZE;
  unmap_window(sink);
  map_window(sink, begin);
}

static void put_text(struct text_sink* sink, const char* text, size_t length) {
  while (length != 0 && sink->error == 0) {
    if (sink->window == NULL || sink->used == WINDOW_SIZE) {
      next_window(sink);
      sink->used = 0;
      continue;
    }
    const size_t room = WINDOW_SIZE - sink->used;
    const size_t part = length < room ? length : room;
    memcpy(sink->window + sink->used, text, part);
    sink->used += part;
    text += part;
    length -= part;
  }
}

static void put_number(struct text_sink* sink, int64_t number) {
  char digits[24];
  char* begin = digits + sizeof digits;
  uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  do {
    *--begin = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (number < 0) *--begin = '-';
  put_text(sink, begin, (size_t)(digits + sizeof digits - begin));
}

static void put_named(struct text_sink* sink, const char* name, int64_t number) {
  put_text(sink, name, strlen(name));
  put_number(sink, number);
}

static void write_comment(tisim_sink* base, const char* text) {
  struct text_sink* const sink = (struct text_sink*)base;
  put_text(sink, "# ", 2);
  put_text(sink, text, strlen(text));
  put_text(sink, "\n", 1);
}

/* Text has no attributes. */
static int64_t no_text(tisim_sink* base, const char* text) {
  (void)base;
  (void)text;
  return -1;
}

static void no_count(tisim_sink* base, int64_t number, int64_t count) {
  (void)base;
  (void)number;
  (void)count;
}

static void write_volume(tisim_sink* base, uint64_t volume) {
  struct text_sink* const sink = (struct text_sink*)base;
  put_text(sink, sink->rank, sink->rank_length);
  put_text(sink, "compute ", 8);
  put_number(sink, (int64_t)(volume >> 63 ? INT64_MAX : (int64_t)volume));
  put_text(sink, "\n", 1);
}

/* A wait says in its line what its receive has matched. */
static void no_matched(tisim_sink* base, int64_t ticket, int64_t source) {
  (void)base;
  (void)ticket;
  (void)source;
}

static int64_t write_call(tisim_sink* base, const struct tisim_call* call) {
  struct text_sink* const sink = (struct text_sink*)base;
  const struct tisim_named* const named = call->named;
  put_text(sink, sink->rank, sink->rank_length);
  put_text(sink, word_names[call->word], strlen(word_names[call->word]));
  for (size_t i = 0; i < call->count; ++i) {
    put_named(sink, " ", call->arguments[i]);
  }
  if (named->text != NULL) {
    put_text(sink, " ", 1);
    put_text(sink, named->text, strlen(named->text));
  }
  if (named->size >= 0) put_named(sink, " size=", named->size);
  if (named->comm != 0) put_named(sink, " comm=", named->comm);
  if (named->request >= 0) put_named(sink, " request=", named->request);
  for (size_t i = 0; i < named->request_count; ++i) {
    put_named(sink, i == 0 ? " requests=" : ",", named->requests[i]);
  }
  for (size_t i = 0; i < named->completed_count; ++i) {
    put_named(sink, i == 0 ? " completed=" : ",", named->completed[i]);
  }
  if (named->threads != 0) {
    put_named(sink, " threads=", named->threads);
    put_named(sink, " sum=", named->sum);
  }
  const char* const layer = tisim_layer_text(named->layer);
  put_text(sink, layer, strlen(layer));
  if (named->source >= 0) put_named(sink, " # source=", named->source);
  put_text(sink, "\n", 1);
  return -1;
}

static const char* error_of(const tisim_sink* base) {
  const struct text_sink* const sink = (const struct text_sink*)base;
  return sink->error == 0 ? NULL : strerror(sink->error);
}

/* The last line says whether the rank is complete. */
static void close_sink(tisim_sink* base, bool is_complete) {
  struct text_sink* const sink = (struct text_sink*)base;
  const off_t size = sink->window == NULL ? 0 : sink->window_begin + (off_t)sink->used;
  (void)is_complete;
  unmap_window(sink);
  /* After an error the zeros stay; whoever reads the part removes them. */
  if (sink->error == 0 && ftruncate(sink->file, size) != 0) sink->error = errno;
  close(sink->file);
  free(sink);
}

tisim_sink* tisim_open_text_sink(const char* directory, int rank) {
  char path[4096];
  const int length = snprintf(path, sizeof path, "%s/rank-%d.txt", directory, rank);
  if (length < 0 || (size_t)length >= sizeof path) {
    errno = ENAMETOOLONG;
    return NULL;
  }
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return NULL;
  struct text_sink* const sink = calloc(1, sizeof *sink);
  if (sink == NULL) {
    close(file);
    errno = ENOMEM;
    return NULL;
  }
  sink->functions = (tisim_sink){write_comment, no_text,    no_text,  no_count,  write_volume,
                                 write_call,    no_matched, error_of, close_sink};
  sink->file = file;
  sink->rank_length = (size_t)snprintf(sink->rank, sizeof sink->rank, "%d ", rank);
  return &sink->functions;
}
