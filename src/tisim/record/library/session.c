/* Whether this rank records, and the lines that it writes. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

#define MOST_FUNCTIONS 256

enum state { STATE_BEFORE, STATE_RECORDING, STATE_OVER };

static enum state state = STATE_BEFORE;
static tisim_sink *sink;
static bool paused;
static bool keeps_failed_tests;
static bool many_threads; /* MPI_THREAD_MULTIPLE: only the thread that called MPI_Init records */
static pthread_t first_thread;
static uint64_t volume; /* of the computation since the last line */
static struct {
  const char *name;
  uint64_t calls;
} unsupported[MOST_FUNCTIONS];
static size_t unsupported_count;
static const char *current; /* the function whose wrapper runs */
static _Thread_local int depth;
static int64_t *numbers;
static size_t numbers_size;

static void message(const char *text) { fprintf(stderr, "tisim record: %s\n", text); }

static void count_unsupported(const char *name) {
  for (size_t i = 0; i < unsupported_count; ++i) {
    if (strcmp(unsupported[i].name, name) == 0) {
      ++unsupported[i].calls;
      return;
    }
  }
  if (unsupported_count < MOST_FUNCTIONS) {
    unsupported[unsupported_count].name = name;
    unsupported[unsupported_count++].calls = 1;
  }
}

bool tisim_enter(const char *function, const void *caller) {
  if (state != STATE_RECORDING || depth != 0) return false;
  if (many_threads && !pthread_equal(pthread_self(), first_thread)) return false;
  volume += tisim_counter_take(caller);
  depth = 1;
  current = function;
  return true;
}

void tisim_leave(void) {
  depth = 0;
  tisim_counter_restart();
}

void tisim_unsupported(void) { count_unsupported(current); }

bool tisim_keeps_failed_tests(void) { return keeps_failed_tests; }

bool tisim_is_active(void) { return !paused; }

/* From here on nothing is written. The rank goes on to agree with the others on communicators. */
static void close_sink(void) {
  if (sink != NULL) tisim_sink_close(sink);
  sink = NULL;
}

static void stop_after_error(void) {
  char text[256];
  snprintf(text, sizeof text, "a part of the trace cannot be written: %s; this rank is no longer "
           "recorded", strerror(tisim_sink_error(sink)));
  message(text);
  close_sink();
}

static void write_header(int size, const char *counter, int threads) {
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  char line[MPI_MAX_LIBRARY_VERSION_STRING + 64];
  int length = 0;
  PMPI_Get_library_version(library, &length);
  library[strcspn(library, "\r\n")] = '\0';
  tisim_sink_comment(sink, "version: tisim record 1");
  snprintf(line, sizeof line, "ranks: %d", size);
  tisim_sink_comment(sink, line);
  snprintf(line, sizeof line, "counter: %s", counter);
  tisim_sink_comment(sink, line);
  snprintf(line, sizeof line, "mpi: %s", library);
  tisim_sink_comment(sink, line);
  snprintf(line, sizeof line, "threads: %s",
           threads == MPI_THREAD_MULTIPLE     ? "multiple"
           : threads == MPI_THREAD_SERIALIZED ? "serialized"
           : threads == MPI_THREAD_FUNNELED   ? "funneled"
                                              : "single");
  tisim_sink_comment(sink, line);
}

static void open_sink(const char *directory, int rank) {
  sink = tisim_sink_open(directory, rank);
  if (sink != NULL) return;
  char text[4200];
  snprintf(text, sizeof text, "%s: rank %d cannot write its part of the trace there: %s",
           directory, rank, strerror(errno));
  message(text);
}

void tisim_start(int threads, const void *caller) {
  const char *const directory = getenv("TISIM_RECORD_DIRECTORY");
  const char *const counter = getenv("TISIM_RECORD_COUNTER");
  const char *const speed = getenv("TISIM_RECORD_SPEED");
  const char *const tests = getenv("TISIM_RECORD_TESTS");
  if (state != STATE_BEFORE) return;
  state = STATE_OVER;
  int rank = 0;
  int size = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  const char *const described = tisim_counter_begin(counter == NULL ? "time" : counter,
                                                    speed == NULL ? 1e9 : strtod(speed, NULL));
  if (directory != NULL && described == NULL) {
    message("the counter that was asked for does not work on this host");
  } else if (directory != NULL) {
    open_sink(directory, rank);
  }
  /* Either all ranks record or none: they communicate when communicators are made. */
  int opened = sink != NULL;
  int all_opened = 0;
  PMPI_Allreduce(&opened, &all_opened, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (all_opened == 0) {
    close_sink();
    return;
  }
  keeps_failed_tests = tests != NULL && strcmp(tests, "all") == 0;
  many_threads = threads == MPI_THREAD_MULTIPLE;
  first_thread = pthread_self();
  tisim_begin_communicators();
  write_header(size, described, threads);
  state = STATE_RECORDING;
  const struct tisim_named none = tisim_on(0);
  tisim_write(TISIM_init, NULL, 0, &none, true);
  (void)tisim_counter_take(caller);
  tisim_counter_restart();
}

void tisim_finish(const void *caller) {
  if (!tisim_enter("MPI_Finalize", caller)) return;
  depth = 0;
  state = STATE_OVER;
  if (sink == NULL) return;
  const struct tisim_named none = tisim_on(0);
  for (size_t i = 0; i < unsupported_count; ++i) {
    char line[256];
    snprintf(line, sizeof line, "unsupported: %s %llu", unsupported[i].name,
             (unsigned long long)unsupported[i].calls);
    tisim_sink_comment(sink, line);
  }
  tisim_write(TISIM_finalize, NULL, 0, &none, true);
  close_sink();
}

void tisim_give_up(void) {
  close_sink();
}

void tisim_pause(bool pause, const void *caller) {
  if (state != STATE_RECORDING || depth != 0 || paused == pause) return;
  volume += tisim_counter_take(caller);
  if (!paused && volume != 0 && sink != NULL) tisim_sink_volume(sink, volume);
  volume = 0;
  paused = pause;
  tisim_counter_restart();
}

struct tisim_named tisim_on(int64_t comm) {
  const struct tisim_named named = {comm, -1, NULL, 0, -1};
  return named;
}

void tisim_write(enum tisim_word word, const int64_t *arguments, size_t count,
                 const struct tisim_named *named, bool always) {
  if (sink == NULL || (paused && !always)) return;
  if (volume != 0 && !paused) tisim_sink_volume(sink, volume);
  volume = 0;
  tisim_sink_call(sink, word, arguments, count, named);
  if (tisim_sink_error(sink) != 0) stop_after_error();
}

int64_t *tisim_numbers(size_t count) {
  if (count > numbers_size) {
    int64_t *const larger = realloc(numbers, 2 * count * sizeof *larger);
    if (larger == NULL) {
      message("there is no memory left");
      abort();
    }
    numbers = larger;
    numbers_size = 2 * count;
  }
  return numbers;
}
