/* A writer that writes one file of text a rank.
 *
 * The end of the file is mapped into memory, a window at a time. So nothing is lost when the
 * program is killed: the kernel has every line that was put there. The disk space of a window is
 * reserved before it is used; a full disk is an error then, not a signal later. Until the writer is
 * closed, zeros fill the rest of the window. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "writer.h"

/* A multiple of all sizes of pages. */
#define WINDOW_SIZE (1 << 18)

struct text_writer {
  tisim_writer functions;
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
static void map_window(struct text_writer* writer, off_t begin) {
  writer->error = posix_fallocate(writer->file, begin, WINDOW_SIZE);
  if (writer->error != 0) return;
  void* const mapped =
      mmap(NULL, WINDOW_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, writer->file, begin);
  if (mapped == MAP_FAILED) {
    writer->error = errno;
    return;
  }
  writer->window = mapped;
  writer->window_begin = begin;
}

static void unmap_window(struct text_writer* writer) {
  if (writer->window != NULL) munmap(writer->window, WINDOW_SIZE);
  writer->window = NULL;
}

static void next_window(struct text_writer* writer) {
  const bool is_first = writer->window == NULL;
  const off_t begin = is_first ? 0 : writer->window_begin + WINDOW_SIZE;
  unmap_window(writer);
  map_window(writer, begin);
}

static void put_text(struct text_writer* writer, const char* text, size_t length) {
  while (length != 0 && writer->error == 0) {
    if (writer->window == NULL || writer->used == WINDOW_SIZE) {
      next_window(writer);
      writer->used = 0;
      continue;
    }
    const size_t room = WINDOW_SIZE - writer->used;
    const size_t part = length < room ? length : room;
    memcpy(writer->window + writer->used, text, part);
    writer->used += part;
    text += part;
    length -= part;
  }
}

static void put_number(struct text_writer* writer, int64_t number) {
  char digits[24];
  char* begin = digits + sizeof digits;
  uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  do {
    *--begin = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (number < 0) *--begin = '-';
  put_text(writer, begin, (size_t)(digits + sizeof digits - begin));
}

static void put_named(struct text_writer* writer, const char* name, int64_t number) {
  put_text(writer, name, strlen(name));
  put_number(writer, number);
}

static void write_comment(tisim_writer* base, const char* text) {
  struct text_writer* const writer = (struct text_writer*)base;
  put_text(writer, "# ", 2);
  put_text(writer, text, strlen(text));
  put_text(writer, "\n", 1);
}

/* Text has no attributes. */
static int64_t no_text(tisim_writer* base, const char* text) {
  (void)base;
  (void)text;
  return -1;
}

static void no_count(tisim_writer* base, int64_t number, int64_t count) {
  (void)base;
  (void)number;
  (void)count;
}

static void write_volume(tisim_writer* base, uint64_t volume) {
  struct text_writer* const writer = (struct text_writer*)base;
  put_text(writer, writer->rank, writer->rank_length);
  put_text(writer, "compute ", 8);
  put_number(writer, (int64_t)(volume >> 63 ? INT64_MAX : (int64_t)volume));
  put_text(writer, "\n", 1);
}

/* A wait says in its line what its receive has matched. */
static void no_matched(tisim_writer* base, int64_t ticket, int64_t source) {
  (void)base;
  (void)ticket;
  (void)source;
}

static int64_t write_call(tisim_writer* base, const struct tisim_call* call) {
  struct text_writer* const writer = (struct text_writer*)base;
  const struct tisim_named* const named = call->named;
  put_text(writer, writer->rank, writer->rank_length);
  put_text(writer, word_names[call->word], strlen(word_names[call->word]));
  for (size_t i = 0; i < call->count; ++i) {
    put_named(writer, " ", call->arguments[i]);
  }
  if (named->text != NULL) {
    put_text(writer, " ", 1);
    put_text(writer, named->text, strlen(named->text));
  }
  if (named->size >= 0) put_named(writer, " size=", named->size);
  if (named->comm != 0) put_named(writer, " comm=", named->comm);
  if (named->request >= 0) put_named(writer, " request=", named->request);
  for (size_t i = 0; i < named->request_count; ++i) {
    put_named(writer, i == 0 ? " requests=" : ",", named->requests[i]);
  }
  for (size_t i = 0; i < named->completed_count; ++i) {
    put_named(writer, i == 0 ? " completed=" : ",", named->completed[i]);
  }
  if (named->threads != 0) {
    put_named(writer, " threads=", named->threads);
    put_named(writer, " sum=", named->sum);
  }
  const char* const layer = tisim_layer_text(named->layer);
  put_text(writer, layer, strlen(layer));
  if (named->source >= 0) put_named(writer, " # source=", named->source);
  put_text(writer, "\n", 1);
  return -1;
}

static const char* error_of(const tisim_writer* base) {
  const struct text_writer* const writer = (const struct text_writer*)base;
  return writer->error == 0 ? NULL : strerror(writer->error);
}

/* The last line says whether the rank is complete. */
static void close_writer(tisim_writer* base, bool is_complete) {
  struct text_writer* const writer = (struct text_writer*)base;
  const off_t size = writer->window == NULL ? 0 : writer->window_begin + (off_t)writer->used;
  (void)is_complete;
  unmap_window(writer);
  /* After an error the zeros stay; whoever reads the part removes them. */
  if (writer->error == 0 && ftruncate(writer->file, size) != 0) writer->error = errno;
  close(writer->file);
  free(writer);
}

tisim_writer* tisim_open_text_writer(const char* directory, int rank) {
  char path[4096];
  const int length = snprintf(path, sizeof path, "%s/rank-%d.txt", directory, rank);
  if (length < 0 || (size_t)length >= sizeof path) {
    errno = ENAMETOOLONG;
    return NULL;
  }
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return NULL;
  struct text_writer* const writer = calloc(1, sizeof *writer);
  if (writer == NULL) {
    close(file);
    errno = ENOMEM;
    return NULL;
  }
  writer->functions = (tisim_writer){write_comment, no_text,    no_text,  no_count,    write_volume,
                                     write_call,    no_matched, error_of, close_writer};
  writer->file = file;
  writer->rank_length = (size_t)snprintf(writer->rank, sizeof writer->rank, "%d ", rank);
  return &writer->functions;
}
