/* The part of a rank as a text file: replaces libtisim_trace if that cannot be loaded.
 *
 * The end of the file is mapped into memory, one window at a time. So nothing is lost when the
 * program is killed: the kernel has every line written to the window. The disk space of a window is
 * reserved before it is used; a full disk is then an error rather than a later signal. Until the
 * part is closed, zeros fill the rest of the window. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace_library.h"

/* A multiple of all page sizes. */
#define WINDOW_SIZE (1 << 18)

struct tt_rank {
  int file;
  int error;
  char* window; /* NULL before the first */
  off_t window_begin;
  size_t used; /* bytes of the window */
  size_t rank_length;
  char rank[16]; /* the first word of each line, with its blank */
  char** lines;  /* the registered lines, with {} for each number of a call */
  int line_count;
};

/* Maps the window of the file that begins at `begin`. */
static void map_window(tt_rank* part, off_t begin) {
  part->error = posix_fallocate(part->file, begin, WINDOW_SIZE);
  if (part->error != 0) return;
  void* const mapped =
      mmap(NULL, WINDOW_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, part->file, begin);
  if (mapped == MAP_FAILED) {
    part->error = errno;
    return;
  }
  part->window = mapped;
  part->window_begin = begin;
}

static void unmap_window(tt_rank* part) {
  if (part->window != NULL) munmap(part->window, WINDOW_SIZE);
  part->window = NULL;
}

static void next_window(tt_rank* part) {
  const bool is_first = part->window == NULL;
  const off_t begin = is_first ? 0 : part->window_begin + WINDOW_SIZE;
  unmap_window(part);
  map_window(part, begin);
}

static void put_text(tt_rank* part, const char* text, size_t length) {
  while (length != 0 && part->error == 0) {
    if (part->window == NULL || part->used == WINDOW_SIZE) {
      next_window(part);
      part->used = 0;
      continue;
    }
    const size_t room = WINDOW_SIZE - part->used;
    const size_t fitting = length < room ? length : room;
    memcpy(part->window + part->used, text, fitting);
    part->used += fitting;
    text += fitting;
    length -= fitting;
  }
}

static void put_number(tt_rank* part, int64_t number) {
  char digits[24];
  char* begin = digits + sizeof digits;
  uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  do {
    *--begin = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (number < 0) *--begin = '-';
  put_text(part, begin, (size_t)(digits + sizeof digits - begin));
}

static int status_of(const tt_rank* part) { return part->error == 0 ? TT_OK : TT_FILE; }

static int comment(tt_rank* part, const char* text) {
  put_text(part, "# ", 2);
  put_text(part, text, strlen(text));
  put_text(part, "\n", 1);
  return status_of(part);
}

static int word(tt_rank* part, const char* line, uint64_t rank_arguments) {
  (void)rank_arguments;
  char** const longer = realloc(part->lines, ((size_t)part->line_count + 1) * sizeof *longer);
  if (longer == NULL) return TT_MEMORY;
  part->lines = longer;
  longer[part->line_count] = strdup(line);
  return longer[part->line_count] == NULL ? TT_MEMORY : part->line_count++;
}

static int call(tt_rank* part, int word, const int64_t* arguments) {
  const char* rest = part->lines[word];
  put_text(part, part->rank, part->rank_length);
  for (const char* place; (place = strstr(rest, "{}")) != NULL; rest = place + 2) {
    put_text(part, rest, (size_t)(place - rest));
    put_number(part, *arguments++);
  }
  put_text(part, rest, strlen(rest));
  put_text(part, "\n", 1);
  return status_of(part);
}

static int compute(tt_rank* part, uint64_t amount) {
  put_text(part, part->rank, part->rank_length);
  put_text(part, "compute ", 8);
  put_number(part, (int64_t)amount);
  put_text(part, "\n", 1);
  return status_of(part);
}

/* Text has no attributes: the line of a wait contains the source that its receive matched. */
static int no_attribute(tt_rank* part, const char* name, int kind) {
  (void)part;
  (void)name;
  (void)kind;
  return TT_INVALID;
}

static int64_t no_text(tt_rank* part, const char* text) {
  (void)part;
  (void)text;
  return TT_INVALID;
}

/* The kernel already has all data. */
static int flush(tt_rank* part) { return status_of(part); }

static const char* error(const tt_rank* part) {
  return part->error == 0 ? "" : strerror(part->error);
}

static void rank_close(tt_rank* part) {
  if (part == NULL) return;
  const off_t size = part->window == NULL ? 0 : part->window_begin + (off_t)part->used;
  unmap_window(part);
  /* After an error the zeros stay; the reader of the part removes them. */
  if (part->error == 0 && ftruncate(part->file, size) != 0) part->error = errno;
  close(part->file);
  for (int i = 0; i < part->line_count; ++i) free(part->lines[i]);
  free(part->lines);
  free(part);
}

static tt_rank* rank_open(uint32_t rank, uint32_t ranks, size_t memory, const char* path) {
  (void)ranks;
  (void)memory;
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return NULL;
  tt_rank* const part = calloc(1, sizeof *part);
  if (part == NULL) {
    close(file);
    errno = ENOMEM;
    return NULL;
  }
  part->file = file;
  part->rank_length = (size_t)snprintf(part->rank, sizeof part->rank, "%u ", (unsigned)rank);
  return part;
}

const struct tisim_trace_library tisim_text = {
    .rank_open = rank_open,
    .word = word,
    .call = call,
    .compute = compute,
    .attribute_name = no_attribute,
    .text = no_text,
    .comment = comment,
    .flush = flush,
    .rank_end = flush, /* the last line shows whether the rank is complete */
    .error = error,
    .rank_close = rank_close,
};
