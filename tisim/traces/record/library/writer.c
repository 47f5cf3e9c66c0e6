/* Writes the calls of a rank to its part while it runs. A killed program loses at most the calls of
 * its last second. */
#include "writer.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "trace_library.h"

#define SECONDS_PER_FLUSH 1
#define SECONDS_TO_END 2          /* maximum time from a signal until the process ends */
#define CALLS_PER_SIZE_CHECK 4096 /* a power of two */
#define FIRST_WORDS 256           /* a power of two */
#define LONGEST_PATH 4096

/* The registered form of a line: its key, and its text without numbers. */
struct line {
  uint64_t key; /* 0: the entry is free */
  char* text;   /* words of the call after its numbers; NULL: none */
  int word;     /* number in libtisim_trace */
};

struct tisim_writer {
  const struct tisim_trace_library* part; /* implementation that writes it */
  tt_rank* rank;
  char path[LONGEST_PATH];
  uint64_t most_bytes;
  uint64_t calls;
  char error[512];    /* empty: none */
  struct line* lines; /* hash table */
  size_t line_room;
  size_t line_count;
  int64_t* numbers; /* buffer for those of a call */
  size_t number_room;
  int call_site; /* attributes; -1: not yet declared */
  int duration;
  int layer;
  int given;
  int before[TISIM_MOST_TEXTS];
  int matched;
  pthread_mutex_t lock; /* protects the rank and the error */
};

static const char* const names[] = {
#define NAME(name, roles, alone, is_collective) #name,
    TISIM_WORDS(NAME)
#undef NAME
};
static const char* const roles_of[] = {
#define ROLES(name, roles, alone, is_collective) roles,
    TISIM_WORDS(ROLES)
#undef ROLES
};

static void fail(tisim_writer* writer, const char* what) {
  if (writer->error[0] == '\0') snprintf(writer->error, sizeof writer->error, "%s", what);
}

static void check(tisim_writer* writer, int status) {
  if (status >= 0) return;
  const char* const what = writer->part->error(writer->rank);
  fail(writer, what[0] == '\0' ? "the trace library refuses a call" : what);
}

static void check_size(tisim_writer* writer) {
  struct stat file;
  if (writer->most_bytes == 0 || stat(writer->path, &file) != 0) return;
  if ((uint64_t)file.st_size > writer->most_bytes) fail(writer, "it has its greatest size");
}

static void flush(tisim_writer* writer) {
  if (writer->error[0] != '\0') return;
  check(writer, writer->part->flush(writer->rank));
  check_size(writer);
}

/* The flusher: a thread that writes the recorded data once per second, even during long
 * computations of the program. A process about to be ended by a signal (SIGTERM, SIGINT, SIGHUP;
 * launchers send them when another rank has aborted) first writes its data, unless the program
 * handles the signal itself. */

static const int ending_signals[] = {SIGTERM, SIGINT, SIGHUP};

static tisim_writer* flushed; /* by the thread; NULL: none */
static pthread_t thread;
static bool has_thread;
static pid_t process; /* a process forked by it has no flusher */
static sem_t wake;
static volatile sig_atomic_t is_over;
static volatile sig_atomic_t ended_by; /* number of a signal; 0: none */

static struct timespec after(time_t seconds) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_sec += seconds;
  return time;
}

static void end_by(int number) {
  signal(number, SIG_DFL);
  kill(getpid(), number);
}

static void* run(void* unused) {
  (void)unused;
  while (!is_over) {
    const struct timespec next = after(SECONDS_PER_FLUSH);
    while (sem_timedwait(&wake, &next) != 0 && errno == EINTR) continue;
    if (is_over) break;
    /* The thread interrupted by the signal may hold the lock. */
    const struct timespec latest = after(SECONDS_PER_FLUSH);
    if (pthread_mutex_timedlock(&flushed->lock, &latest) == 0) {
      if (!is_over) flush(flushed);
      pthread_mutex_unlock(&flushed->lock);
    }
    if (ended_by != 0) end_by(ended_by);
  }
  return NULL;
}

/* Suspends the program while the flusher writes and then ends the process. */
static void on_signal(int number) {
  if (getpid() == process && !is_over) {
    ended_by = number;
    sem_post(&wake);
    const struct timespec a_while = {SECONDS_TO_END, 0};
    nanosleep(&a_while, NULL);
  }
  end_by(number);
}

static void handle_ending_signals(void) {
  for (size_t i = 0; i < sizeof ending_signals / sizeof *ending_signals; ++i) {
    struct sigaction action;
    if (sigaction(ending_signals[i], NULL, &action) != 0) continue;
    if ((action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = on_signal;
    action.sa_flags = 0;
    sigfillset(&action.sa_mask);
    sigaction(ending_signals[i], &action, NULL);
  }
}

static void start_flusher(tisim_writer* writer) {
  sigset_t all, before;
  flushed = writer;
  process = getpid();
  sem_init(&wake, 0, 0);
  /* The program's signals are for its own threads. */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  has_thread = pthread_create(&thread, NULL, run, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (has_thread) handle_ending_signals();
}

/* Must not be called while the lock is held. */
static void stop_flusher(void) {
  if (!has_thread) return;
  is_over = true;
  sem_post(&wake);
  pthread_join(thread, NULL);
  has_thread = false;
}

/* Bit i is set if number i of the line is a rank. */
static uint64_t ranks_among(const struct tisim_call* call) {
  const char* const roles = roles_of[call->word];
  size_t vectors = 0;
  for (const char* role = roles; *role != '\0'; ++role) vectors += *role == 'v';
  const size_t single = strlen(roles) - vectors;
  const size_t per_vector =
      vectors == 0 || call->count < single ? 0 : (call->count - single) / vectors;
  uint64_t ranks = 0;
  size_t place = 0;
  for (const char* role = roles; *role != '\0' && place < call->count; ++role) {
    const size_t first = place;
    place += *role == 'v' ? per_vector : *role == 'l' ? (size_t)call->arguments[place - 1] : 1;
    if (*role != 'r' && *role != 'l') continue;
    for (size_t i = first; i < place && i < 64; ++i) ranks |= UINT64_C(1) << i;
  }
  return ranks;
}

static size_t numbers_in(const struct tisim_call* call) {
  return call->count + call->named->request_count + call->named->completed_count + 6;
}

/* Registers the line's text and returns its number; a negative status on failure. */
static int make_word(tisim_writer* writer, const struct tisim_call* call) {
  const struct tisim_named* const named = call->named;
  const size_t longer = named->text == NULL ? 0 : strlen(named->text);
  char* const text = malloc(64 + 64 + 3 * numbers_in(call) + longer + 64);
  if (text == NULL) return TT_MEMORY;
  uint64_t ranks = ranks_among(call);
  size_t place = call->count;
  char* end = text + sprintf(text, "%s", names[call->word]);
  for (size_t i = 0; i < call->count; ++i) end += sprintf(end, " {}");
  if (named->text != NULL) end += sprintf(end, " %s", named->text);
  if (named->size >= 0) end += sprintf(end, " size={}"), ++place;
  if (named->comm != 0) end += sprintf(end, " comm={}"), ++place;
  if (named->request >= 0) end += sprintf(end, " request={}"), ++place;
  for (size_t i = 0; i < named->request_count; ++i) {
    end += sprintf(end, i == 0 ? " requests={}" : ",{}"), ++place;
  }
  for (size_t i = 0; i < named->completed_count; ++i) {
    end += sprintf(end, i == 0 ? " completed={}" : ",{}"), ++place;
  }
  if (named->threads != 0) end += sprintf(end, " threads={} sum={}"), place += 2;
  if (named->layer != TISIM_ALL_LAYERS) {
    end += sprintf(end, named->layer == TISIM_LAYER_MPI ? " layer=mpi" : " layer=posix");
  }
  if (named->source >= 0) {
    end += sprintf(end, " # source={}");
    if (place < 64) ranks |= UINT64_C(1) << place;
  }
  const int word = writer->part->word(writer->rank, text, ranks);
  free(text);
  return word;
}

static bool is_line(const struct line* line, uint64_t key, const char* text) {
  if (line->key != key || (line->text == NULL) != (text == NULL)) return false;
  return text == NULL || strcmp(line->text, text) == 0;
}

static struct line* place_of(struct line* lines, size_t room, uint64_t key, const char* text) {
  size_t place = (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (room - 1);
  while (lines[place].key != 0 && !is_line(&lines[place], key, text))
    place = (place + 1) & (room - 1);
  return &lines[place];
}

static bool grow_lines(tisim_writer* writer) {
  const size_t room = writer->line_room == 0 ? FIRST_WORDS : 2 * writer->line_room;
  struct line* const lines = calloc(room, sizeof *lines);
  if (lines == NULL) return false;
  for (size_t i = 0; i < writer->line_room; ++i) {
    const struct line* const line = &writer->lines[i];
    if (line->key != 0) *place_of(lines, room, line->key, line->text) = *line;
  }
  free(writer->lines);
  writer->lines = lines;
  writer->line_room = room;
  return true;
}

/* Makes the keys of calls on different files differ. */
static uint64_t with_text(uint64_t key, const struct tisim_named* named) {
  uint64_t hash = named->size >= 0 ? 1 : 0;
  for (const char* c = named->text; *c != '\0'; ++c) hash = 31 * hash + (unsigned char)*c;
  return key ^ hash << 12;
}

static int word_of(tisim_writer* writer, const struct tisim_call* call) {
  const struct tisim_named* const named = call->named;
  const uint64_t has = (named->comm != 0) | (uint64_t)(named->request >= 0) << 1 |
                       (uint64_t)(named->source >= 0) << 2 | 8;
  /* A call with a list of completed requests has no other numbers. */
  const uint64_t numbers = call->count + named->completed_count;
  const uint64_t plain = has | (uint64_t)call->word << 4 | numbers << 12 |
                         (uint64_t)named->request_count << 38 | (uint64_t)named->layer << 62;
  const uint64_t key = named->text == NULL ? plain : with_text(plain, named);
  if (2 * writer->line_count >= writer->line_room && !grow_lines(writer)) return TT_MEMORY;
  struct line* const line = place_of(writer->lines, writer->line_room, key, named->text);
  if (line->key == 0) {
    const int word = make_word(writer, call);
    if (word < 0) return word;
    if (named->text != NULL && (line->text = strdup(named->text)) == NULL) return TT_MEMORY;
    line->key = key;
    line->word = word;
    ++writer->line_count;
  }
  return line->word;
}

static const int64_t* numbers_of(tisim_writer* writer, const struct tisim_call* call) {
  const struct tisim_named* const named = call->named;
  const size_t most = numbers_in(call);
  if (most > writer->number_room) {
    int64_t* const larger = realloc(writer->numbers, 2 * most * sizeof *larger);
    if (larger == NULL) return NULL;
    writer->numbers = larger;
    writer->number_room = 2 * most;
  }
  int64_t* end = writer->numbers;
  for (size_t i = 0; i < call->count; ++i) *end++ = call->arguments[i];
  if (named->size >= 0) *end++ = named->size;
  if (named->comm != 0) *end++ = named->comm;
  if (named->request >= 0) *end++ = named->request;
  for (size_t i = 0; i < named->request_count; ++i) *end++ = named->requests[i];
  for (size_t i = 0; i < named->completed_count; ++i) *end++ = named->completed[i];
  if (named->threads != 0) {
    *end++ = named->threads;
    *end++ = named->sum;
  }
  if (named->source >= 0) *end++ = named->source;
  return writer->numbers;
}

void tisim_writer_comment(tisim_writer* writer, const char* text) {
  pthread_mutex_lock(&writer->lock);
  if (writer->error[0] == '\0') {
    const int status = writer->part->comment(writer->rank, text);
    if (status != TT_INVALID) check(writer, status); /* a text that is not a line is left out */
  }
  pthread_mutex_unlock(&writer->lock);
}

int64_t tisim_writer_text(tisim_writer* writer, const char* text) {
  pthread_mutex_lock(&writer->lock);
  const int64_t number = writer->error[0] == '\0' ? writer->part->text(writer->rank, text) : -1;
  pthread_mutex_unlock(&writer->lock);
  return number < 0 ? -1 : number;
}

int64_t tisim_writer_count_name(tisim_writer* writer, const char* name) {
  char attribute[64 + 16];
  snprintf(attribute, sizeof attribute, "counter:%s", name);
  pthread_mutex_lock(&writer->lock);
  const int number = writer->part->attribute_name(writer->rank, attribute, TT_MEASURED);
  pthread_mutex_unlock(&writer->lock);
  return number < 0 ? -1 : number;
}

void tisim_writer_count(tisim_writer* writer, int64_t number, int64_t count) {
  pthread_mutex_lock(&writer->lock);
  if (writer->error[0] == '\0') writer->part->attribute(writer->rank, (int)number, count);
  pthread_mutex_unlock(&writer->lock);
}

/* Sets an attribute of the call, declaring it on first use; a value of -1 means not set. */
static void set(tisim_writer* writer, int* number, const char* name, int kind, int64_t value) {
  if (value < 0) return;
  if (*number < 0) *number = writer->part->attribute_name(writer->rank, name, kind);
  if (*number >= 0) writer->part->attribute(writer->rank, *number, value);
}

__attribute__((noinline)) static void set_attributes(tisim_writer* writer,
                                                     const struct tisim_call* call) {
  set(writer, &writer->call_site, "call_site", TT_TEXT, call->call_site);
  set(writer, &writer->duration, "duration", TT_MEASURED, call->duration);
  set(writer, &writer->layer, "library_call", TT_TEXT, call->layer);
  set(writer, &writer->given, "mpi_call", TT_TEXT, call->given);
  for (size_t i = 0; i < call->before_count; ++i) {
    char name[32];
    snprintf(name, sizeof name, i == 0 ? "mpi_calls_before" : "mpi_calls_before_%zu", i + 1);
    set(writer, &writer->before[i], name, TT_TEXT, call->before[i]);
  }
}

/* Waits complete several receives: only the receives themselves record their matched sources. */
static int64_t set_matched(tisim_writer* writer, const struct tisim_call* call) {
  const struct tisim_named* const named = call->named;
  if (writer->matched < 0) return -1;
  if (named->is_any) return writer->part->attribute_later(writer->rank, writer->matched);
  const bool is_receive =
      call->word == TISIM_recv || call->word == TISIM_probe || call->word == TISIM_iprobe;
  if (is_receive && named->source >= 0) {
    writer->part->attribute(writer->rank, writer->matched, named->source);
  }
  return -1;
}

void tisim_writer_volume(tisim_writer* writer, uint64_t volume) {
  const uint64_t most = INT64_MAX;
  pthread_mutex_lock(&writer->lock);
  if (writer->error[0] == '\0') {
    check(writer, writer->part->compute(writer->rank, volume < most ? volume : most));
  }
  pthread_mutex_unlock(&writer->lock);
}

int64_t tisim_writer_call(tisim_writer* writer, const struct tisim_call* call) {
  int64_t ticket = -1;
  pthread_mutex_lock(&writer->lock);
  if (writer->error[0] == '\0') {
    const int word = word_of(writer, call);
    const int64_t* const numbers = word < 0 ? NULL : numbers_of(writer, call);
    if (word >= 0 && numbers == NULL) fail(writer, "there is no memory left");
    const bool is_plain = call->call_site < 0 && call->duration < 0 && call->layer < 0 &&
                          call->given < 0 && call->before_count == 0;
    if (!is_plain) set_attributes(writer, call);
    ticket = set_matched(writer, call);
    check(writer,
          word < 0 || numbers == NULL ? word : writer->part->call(writer->rank, word, numbers));
    if (writer->calls++ == 0) flush(writer); /* from here on the part identifies the program */
    if ((writer->calls & (CALLS_PER_SIZE_CHECK - 1)) == 0) check_size(writer);
  }
  pthread_mutex_unlock(&writer->lock);
  return ticket;
}

void tisim_writer_matched(tisim_writer* writer, int64_t ticket, int64_t source) {
  pthread_mutex_lock(&writer->lock);
  if (writer->error[0] == '\0') writer->part->attribute_known(writer->rank, ticket, source);
  pthread_mutex_unlock(&writer->lock);
}

const char* tisim_writer_error(const tisim_writer* writer) {
  return writer->error[0] == '\0' ? NULL : writer->error;
}

static void free_writer(tisim_writer* writer) {
  writer->part->rank_close(writer->rank);
  for (size_t i = 0; i < writer->line_room; ++i) free(writer->lines[i].text);
  free(writer->lines);
  free(writer->numbers);
  free(writer);
}

void tisim_writer_close(tisim_writer* writer, bool is_complete) {
  stop_flusher();
  if (writer->error[0] == '\0') {
    check(writer,
          is_complete ? writer->part->rank_end(writer->rank) : writer->part->flush(writer->rank));
  }
  free_writer(writer);
}

tisim_writer* tisim_open_writer(const char* path, bool is_compressed, int rank, int ranks,
                                size_t memory, uint64_t most_bytes) {
  const bool is_long = strlen(path) + 1 >= LONGEST_PATH; /* it may have been truncated */
  if (is_long || access(path, F_OK) == 0) {
    errno = is_long ? ENAMETOOLONG : EEXIST;
    return NULL;
  }
  tisim_writer* const writer = calloc(1, sizeof *writer);
  if (writer == NULL) return NULL;
  writer->part = is_compressed ? &tisim_trace : &tisim_text;
  strcpy(writer->path, path);
  writer->most_bytes = is_compressed ? most_bytes : 0;
  writer->call_site = -1;
  writer->duration = -1;
  writer->layer = -1;
  writer->given = -1;
  for (size_t i = 0; i < TISIM_MOST_TEXTS; ++i) writer->before[i] = -1;
  errno = ENOMEM;
  writer->rank = writer->part->rank_open((uint32_t)rank, (uint32_t)ranks, memory, path);
  if (writer->rank == NULL || writer->part->error(writer->rank)[0] != '\0') {
    const int reason = errno;
    free_writer(writer);
    errno = reason;
    return NULL;
  }
  /* Declared even if no receive is from any source: this marks the trace's sources as complete. */
  writer->matched = writer->part->attribute_name(writer->rank, "matched", TT_RANK);
  pthread_mutex_init(&writer->lock, NULL);
  if (is_compressed) start_flusher(writer);
  return writer;
}
