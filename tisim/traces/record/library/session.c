/* Decides whether this rank records, and writes its lines. */
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arguments.h"
#include "counting.h"
#include "layers.h"
#include "numbers.h"
#include "places.h"
#include "timeline.h"
#include "trace_library.h"
#include "unsupported.h"

#define LONGEST_PATH 4096

/* The user's settings of the recorder, from environment variables. */
struct settings {
  const char* directory; /* of the parts; NULL: nothing is recorded */
  const char* output;    /* the trace into which the ranks merge their parts; NULL: not merged */
  const char* trace_library; /* libtisim_trace; NULL: parts are text */
  const char* counter;
  const char* further_counters; /* additional ones; NULL: none */
  double reference_speed;
  bool keeps_failed_tests;
  bool has_spawned;      /* spawned processes are ranks too */
  uint64_t longest_poll; /* maximum volume of a polling round */
  bool adds_init;        /* the first computation includes the time of MPI_Init */
  bool has_arguments;    /* calls have their arguments */
  bool has_call_sites;   /* calls have their location in the program */
  bool has_samples;      /* call paths of computations are sampled */
  bool has_times;        /* calls have their durations */
  bool has_timeline;     /* and their begin and end */
  bool has_notes;        /* parts/rank-N.notes: data that is not in the trace */
  bool has_own_room;     /* each host has its own directory for parts, created by its ranks */
  bool has_mpi_io;       /* MPI-IO calls are recorded */
  bool has_layers;       /* and the POSIX calls beneath them */
  bool is_posix_only;    /* MPI-IO is recorded as POSIX calls */
  size_t memory;         /* bytes per rank; 0: the library's default limit */
  uint64_t most_bytes;   /* of all parts; 0: unlimited */
  const char* ranks;     /* the recorded ones, "0-3,7"; NULL: all */
};

static struct settings settings;
static tisim_writer* writer;    /* NULL: this rank is not recorded, or no longer */
static char part[LONGEST_PATH]; /* the file of the writer; empty: there never was one */
static int own_rank;
static pid_t recording_process;
static bool is_merged;       /* the ranks merge their parts at the end */
static bool many_threads;    /* MPI_THREAD_MULTIPLE: only the thread that called MPI_Init records */
static uint64_t calls;       /* number of written calls */
static uint64_t volume;      /* of the computation since the last line */
static bool has_clock;       /* calls are timed */
static bool is_nested_posix; /* the current call is a POSIX one inside an MPI-IO function */
static int64_t call_site = -1;       /* of the current MPI call; -1: not recorded */
static uint64_t begin_time;          /* of the current MPI call; 0: times are not recorded */
static uint64_t end_time;            /* 0: it has not ended */
static const char* current;          /* the function whose wrapper is running */
static _Thread_local int unrecorded; /* nesting depth of this thread's unrecorded calls */

/* Returns NULL for an empty variable too: some launchers pass unset ones on as empty. Returns a
 * copy, since the program may change its environment. */
static const char* value_of(const char* name) {
  const char* const value = getenv(name);
  return value == NULL || value[0] == '\0' ? NULL : strdup(value);
}

static bool is_asked_for(const char* name) {
  const char* const value = value_of(name);
  return value != NULL && strcmp(value, "0") != 0;
}

static uint64_t whole_number(const char* name) {
  const char* const value = value_of(name);
  return value == NULL ? 0 : strtoull(value, NULL, 10);
}

static struct settings read_settings(void) {
  const char* const counter = value_of("TISIM_RECORD_COUNTER");
  const char* const speed = value_of("TISIM_RECORD_SPEED");
  const char* const tests = value_of("TISIM_RECORD_TESTS");
  const char* const io = value_of("TISIM_RECORD_IO");
  const char* const poll = value_of("TISIM_RECORD_LONGEST_POLL");
  const struct settings settings = {
      .directory = value_of("TISIM_RECORD_DIRECTORY"),
      .output = value_of("TISIM_RECORD_OUTPUT"),
      .trace_library = value_of("TISIM_RECORD_LIBRARY"),
      .counter = counter == NULL ? "time" : counter,
      .further_counters = value_of("TISIM_RECORD_FURTHER_COUNTERS"),
      .reference_speed = speed == NULL ? 1e9 : strtod(speed, NULL),
      .keeps_failed_tests = tests != NULL && strcmp(tests, "all") == 0,
      .has_spawned = is_asked_for("TISIM_RECORD_SPAWN"),
      .longest_poll = poll == NULL ? 1000 : strtoull(poll, NULL, 10),
      .adds_init = is_asked_for("TISIM_RECORD_INIT"),
      .has_arguments = is_asked_for("TISIM_RECORD_ARGUMENTS"),
      .has_call_sites = is_asked_for("TISIM_RECORD_CALL_SITES"),
      .has_samples = is_asked_for("TISIM_RECORD_SAMPLE"),
      .has_times = is_asked_for("TISIM_RECORD_TIMES"),
      .has_timeline = is_asked_for("TISIM_RECORD_TIMELINE"),
      .has_notes = is_asked_for("TISIM_RECORD_NOTES"),
      .has_own_room = is_asked_for("TISIM_RECORD_GATHER"),
      .has_mpi_io = io != NULL && (strcmp(io, "mpi") == 0 || strcmp(io, "both") == 0),
      .has_layers = io != NULL && strcmp(io, "both") == 0,
      .is_posix_only = io != NULL && strcmp(io, "posix") == 0,
      .memory = (size_t)whole_number("TISIM_RECORD_MEMORY"),
      .most_bytes = whole_number("TISIM_RECORD_MAX_SIZE"),
      .ranks = value_of("TISIM_RECORD_RANKS"),
  };
  return settings;
}

/* Returns true if a rank is in a list such as "0-3,7". */
static bool is_listed(const char* ranks, int rank) {
  while (*ranks != '\0') {
    char* end;
    const long first = strtol(ranks, &end, 10);
    if (end == ranks) return false; /* not a list */
    const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
    if (first <= rank && rank <= last) return true;
    ranks = *end == ',' ? end + 1 : end;
  }
  return false;
}

static void message(const char* text) { fprintf(stderr, "tisim record: %s\n", text); }

static bool is_first_thread(void) {
  return pthread_equal(pthread_self(), tisim_state.first_thread) != 0;
}

/* A trace has one sequence of calls per rank. */
static void count_of_other_thread(const char* function) {
  char name[128];
  snprintf(name, sizeof name, "%s-by-other-threads", function);
  tisim_count_unsupported(name, 1);
}

bool tisim_enter(const char* function, const void* caller) {
  const bool is_outermost = tisim_state.phase == TISIM_RECORDING && tisim_depth == 0;
  if (!is_outermost || (many_threads && !is_first_thread())) {
    if (is_outermost && unrecorded == 0) count_of_other_thread(function);
    ++unrecorded;
    return false;
  }
  tisim_depth = 1; /* from here on nothing is sampled */
  tisim_add_volume(tisim_counter_take(caller));
  if (is_first_thread()) tisim_take_further_counts();
  current = function;
  if (settings.has_call_sites && writer != NULL) call_site = tisim_call_site(caller);
  if (has_clock && writer != NULL) {
    end_time = 0;
    begin_time = tisim_now();
  }
  return true;
}

bool tisim_enter_untraced(const char* function, const void* caller) {
  const bool is_of_other_thread = many_threads && !is_first_thread();
  if (tisim_state.phase == TISIM_RECORDING && tisim_depth == 0 && !is_of_other_thread) {
    return tisim_enter(function, caller);
  }
  ++unrecorded;
  return false;
}

bool tisim_enter_untraced_mpi_io(const char* function, const void* caller) {
  if (!settings.is_posix_only && !settings.has_layers) {
    return tisim_enter_untraced(function, caller);
  }
  ++unrecorded;
  return false;
}

bool tisim_enter_mpi_io(const char* function, const void* caller) {
  if (!settings.is_posix_only) return tisim_enter(function, caller);
  ++unrecorded;
  return false;
}

void tisim_leave_unrecorded(void) { --unrecorded; }

bool tisim_records_mpi_io(void) { return settings.has_mpi_io; }

void tisim_begin_mpi_io(void) {
  if (settings.has_layers && is_first_thread()) tisim_depth = 2;
}

void tisim_end_mpi_io(void) { tisim_depth = 1; }

bool tisim_enter_nested_posix(void) {
  if (tisim_depth != 2) return false;
  tisim_depth = 1;
  is_nested_posix = true;
  return true;
}

bool tisim_is_nested_posix(void) { return is_nested_posix; }

enum tisim_layer tisim_upper_layer(void) {
  return settings.has_layers ? TISIM_LAYER_MPI : TISIM_ALL_LAYERS;
}

void tisim_add_volume(uint64_t more) {
  if (is_first_thread()) {
    volume += more;
  } else {
    tisim_add_thread_volume(more);
  }
}

bool tisim_begin_region(const void* caller) {
  if (!tisim_is_recorded_thread() || !tisim_counts_threads()) return false;
  volume += tisim_counter_take(caller);
  return true;
}

static void defer_call(void) {
  if (writer == NULL || tisim_state.paused) {
    tisim_forget_call();
  } else {
    tisim_defer_call();
  }
}

void tisim_leave(void) {
  if (is_nested_posix) {
    is_nested_posix = false;
    tisim_depth = 2;
    return;
  }
  if (settings.has_arguments) defer_call();
  if (settings.has_timeline && begin_time != 0 && !tisim_state.paused) {
    tisim_timeline_call(current, begin_time, end_time == 0 ? tisim_now() : end_time);
  }
  if (is_first_thread()) tisim_restart_further_counters();
  tisim_counter_restart();
  tisim_depth = 0;
}

void tisim_unsupported(void) { tisim_count_unsupported(current, 1); }

bool tisim_keeps_failed_tests(void) { return settings.keeps_failed_tests; }

void tisim_record_test(uint64_t key, bool answer) {
  if (!answer && !settings.keeps_failed_tests) tisim_forget_call();
  if (settings.keeps_failed_tests || settings.longest_poll == 0) return;
  volume = tisim_without_polling(key, answer, calls, volume, settings.longest_poll);
}

/* Stops writing. The rank continues to take part in agreements on communicators. */
static void close_writer(bool is_complete) {
  tisim_end_samples();
  if (writer != NULL) tisim_writer_close(writer, is_complete);
  writer = NULL;
}

static void stop_after_error(void) {
  char text[1024];
  snprintf(text, sizeof text,
           "a part of the trace cannot be written: %s; this rank is no longer recorded",
           tisim_writer_error(writer));
  message(text);
  close_writer(false);
}

static void write_header(int size, const char* counter, int threads) {
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  char line[MPI_MAX_LIBRARY_VERSION_STRING + 64];
  int length = 0;
  PMPI_Get_library_version(library, &length);
  library[strcspn(library, "\r\n")] = '\0';
  for (char* tab = library; (tab = strchr(tab, '\t')) != NULL;) *tab = ' ';
  tisim_writer_comment(writer, "version: tisim record 1");
  snprintf(line, sizeof line, "ranks: %d", size);
  tisim_writer_comment(writer, line);
  snprintf(line, sizeof line, "counter: %s", counter);
  tisim_writer_comment(writer, line);
  snprintf(line, sizeof line, "mpi: %s", library);
  tisim_writer_comment(writer, line);
  snprintf(line, sizeof line, "threads: %s",
           threads == MPI_THREAD_MULTIPLE     ? "multiple"
           : threads == MPI_THREAD_SERIALIZED ? "serialized"
           : threads == MPI_THREAD_FUNNELED   ? "funneled"
                                              : "single");
  tisim_writer_comment(writer, line);
}

/* All ranks write the same kind of parts: compressed ones if all of them can. */
static bool all_load_trace_library(void) {
  int loaded = settings.trace_library != NULL && tisim_load_trace_library(settings.trace_library);
  int all_loaded = 0;
  PMPI_Allreduce(&loaded, &all_loaded, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all_loaded != 0;
}

/* Returns a rank's share of the maximum size of all parts; 0 if unlimited. */
static uint64_t share_of_size(int size) {
  uint64_t recorded = 0;
  for (int rank = 0; rank < size; ++rank) {
    recorded += settings.ranks == NULL || is_listed(settings.ranks, rank);
  }
  const uint64_t share = recorded == 0 ? 0 : settings.most_bytes / recorded;
  return settings.most_bytes != 0 && share == 0 ? 1 : share;
}

static void open_writer(bool compressed, int rank, int size) {
  const char* const directory = settings.directory;
  snprintf(part, sizeof part, "%s/rank-%d.%s", directory, rank, compressed ? "part" : "txt");
  writer = tisim_open_writer(part, compressed, rank, size, settings.memory, share_of_size(size));
  if (writer != NULL) return;
  char text[LONGEST_PATH + 256];
  snprintf(text, sizeof text, "%s: rank %d cannot write its part of the trace there: %s", directory,
           rank, strerror(errno));
  message(text);
}

/* A program may end without MPI_Finalize. A process forked by it does not count. */
static void close_at_exit(void) {
  if (getpid() == recording_process) tisim_abort_recording();
}

int tisim_own_rank(void) { return own_rank; }

bool tisim_records_spawned(void) { return settings.has_spawned; }

/* The file `.ranks` in the directory of the parts contains the current number of ranks. */
int tisim_claim_ranks(int count) {
  char path[LONGEST_PATH + 16];
  char text[16] = "";
  snprintf(path, sizeof path, "%s/.ranks", settings.directory);
  const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0 || lockf(file, F_LOCK, 0) != 0 || pread(file, text, sizeof text - 1, 0) < 0) {
    message("the directory of the parts cannot be written"); /* nor will the parts be */
    if (file >= 0) close(file);
    return 0;
  }
  const int before = atoi(text);
  const int length = snprintf(text, sizeof text, "%d\n", before + count);
  const bool is_written = pwrite(file, text, (size_t)length, 0) == length;
  close(file);
  if (!is_written) message("the directory of the parts cannot be written");
  return before;
}

int tisim_agree_on_ranks(MPI_Comm between, int claimed) {
  int before = -1;
  PMPI_Allreduce(&claimed, &before, 1, MPI_INT, MPI_MAX, between);
  return before;
}

bool tisim_prepare(int threads) {
  if (tisim_state.phase != TISIM_BEFORE) return false;
  tisim_state.phase = TISIM_OVER;
  int rank = 0;
  int size = 0;
  settings = read_settings();
  /* Programs started by this one are not ranks, unless spawned processes are recorded. */
  if (!settings.has_spawned) unsetenv("TISIM_RECORD_DIRECTORY");
  /* Another rank may have created it; a failure is reported when the part is opened. */
  if (settings.has_own_room && settings.directory != NULL) (void)mkdir(settings.directory, 0777);
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm parent = MPI_COMM_NULL;
  PMPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL && !settings.has_spawned) return false;
  int before = 0; /* ranks of the trace */
  if (parent != MPI_COMM_NULL) {
    before = tisim_agree_on_ranks(parent, -1);
  } else if (settings.has_spawned && rank == 0) {
    (void)tisim_claim_ranks(size);
  }
  own_rank = before + rank;
  /* Compressed parts contain the program's number of ranks, which is unknown with spawned ones. */
  const bool compressed = !settings.has_spawned && all_load_trace_library();
  const bool listed = settings.ranks == NULL || is_listed(settings.ranks, own_rank);
  const char* const counter = tisim_counter_begin(settings.counter, settings.reference_speed);
  const bool counts = counter != NULL && tisim_begin_further_counters(settings.further_counters);
  bool can_record = settings.directory != NULL && counts;
  if (settings.directory != NULL && counter == NULL) {
    message("the counter that was asked for does not work on this host");
  } else if (can_record && listed) {
    open_writer(compressed, own_rank, size);
    can_record = writer != NULL;
  }
  /* Either all ranks record or none: they communicate when communicators are created. */
  int opened = can_record;
  int all_opened = 0;
  PMPI_Allreduce(&opened, &all_opened, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (all_opened == 0) {
    close_writer(false);
    return false;
  }
  many_threads = threads == MPI_THREAD_MULTIPLE;
  tisim_state.first_thread = pthread_self();
  is_merged = compressed && settings.output != NULL;
  if (is_merged) tisim_prepare_merge();
  if (writer != NULL) {
    write_header(size, counter, threads);
    tisim_name_further_counters(writer);
  }
  if (settings.has_call_sites && writer != NULL) tisim_begin_call_sites(writer);
  if (settings.has_arguments) tisim_begin_arguments();
  has_clock = settings.has_times || settings.has_timeline;
  if (settings.has_timeline) tisim_begin_timeline(settings.directory, writer != NULL);
  recording_process = getpid();
  atexit(close_at_exit);
  tisim_begin_accelerators();
  tisim_measure_empty_computation();
  if (strcmp(settings.counter, "register") == 0) tisim_begin_uncounted();
  if (settings.has_samples && writer != NULL)
    tisim_begin_samples(writer, settings.directory, own_rank);
  tisim_depth = 1;
  tisim_state.phase = TISIM_RECORDING;
  return true;
}

bool tisim_adds_init(void) { return settings.adds_init; }

void tisim_begin(const void* caller, uint64_t in_init) {
  (void)tisim_counter_take(caller);
  if (settings.adds_init) tisim_add_volume(tisim_volume_of_time(in_init));
  tisim_restart_further_counters();
  tisim_counter_restart();
  tisim_depth = 0;
}

static void write_unsupported(void) {
  char* const lines = tisim_list_unsupported("unsupported: ");
  if (lines == NULL) return;
  for (char *line = lines, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    *end = '\0';
    tisim_writer_comment(writer, line);
  }
  free(lines);
}

/* Writes the computation before the next call. */
static void write_volume(void) {
  const struct tisim_threads threads = tisim_take_threads(volume);
  const bool is_written = !tisim_state.paused && writer != NULL && threads.sum != 0;
  volume = 0;
  tisim_write_further_counts(is_written ? writer : NULL);
  if (!is_written) return;
  if (threads.count > 1) {
    const int64_t largest = (int64_t)threads.largest;
    struct tisim_named named = tisim_on(0);
    named.threads = threads.count;
    named.sum = (int64_t)threads.sum;
    const struct tisim_call call = {TISIM_compute, &largest, 1, &named, -1, -1, -1, -1, NULL, 0};
    tisim_writer_call(writer, &call);
  } else {
    tisim_writer_volume(writer, threads.sum);
  }
}

static void write_accelerators(void) {
  const int percent = tisim_accelerator_percent();
  if (percent == 0) return;
  char line[64];
  snprintf(line, sizeof line, "accelerators: %d", percent);
  tisim_writer_comment(writer, line);
}

/* Writes facts that differ from run to run, unlike the trace. */
static void write_notes(void) {
  char path[LONGEST_PATH + 32];
  snprintf(path, sizeof path, "%s/rank-%d.notes", settings.directory, own_rank);
  FILE* const file = fopen(path, "w");
  if (file == NULL) return;
  tisim_end_uncounted(file);
  tisim_note_polling(file);
  tisim_note_empty_computation(file, settings.counter);
  tisim_note_overheads(file);
  fclose(file);
}

void tisim_finish(const char* function, const void* caller) {
  if (!tisim_enter(function, caller)) return;
  tisim_depth = 0;
  tisim_state.phase = TISIM_OVER;
  if (writer != NULL) {
    const struct tisim_named none = tisim_on(0);
    write_unsupported();
    write_accelerators();
    tisim_describe(function, "", (const void*[]){NULL});
    tisim_write(TISIM_finalize, NULL, 0, &none, true);
    close_writer(true);
  }
  if (settings.has_timeline) tisim_end_timeline();
  if (settings.has_notes && settings.directory != NULL) write_notes();
  if (is_merged) tisim_merge(part[0] == '\0' ? NULL : part, settings.output);
  /* The last rank of a host removes it, unless parts could not be merged. */
  if (settings.has_own_room && settings.directory != NULL) (void)rmdir(settings.directory);
}

void tisim_abort_recording(void) {
  if (writer != NULL) write_unsupported();
  tisim_close_timeline();
  close_writer(false);
}

void tisim_pause(bool pause, const void* caller) {
  if (tisim_state.phase != TISIM_RECORDING || tisim_depth != 0 || tisim_state.paused == pause)
    return;
  tisim_depth = 1;
  volume += tisim_counter_take(caller);
  if (is_first_thread()) tisim_take_further_counts();
  write_volume();
  tisim_state.paused = pause;
  if (is_first_thread()) tisim_restart_further_counters();
  tisim_counter_restart();
  tisim_depth = 0;
}

struct tisim_named tisim_on(int64_t comm) {
  const struct tisim_named named = {.comm = comm, .request = -1, .source = -1, .size = -1};
  return named;
}

/* Returns the duration of the current MPI call; -1 if not recorded, or already written. */
static int64_t take_duration(void) {
  if (begin_time == 0) return -1;
  if (end_time != 0) return -1;
  end_time = tisim_now();
  return settings.has_times ? (int64_t)(end_time - begin_time) : -1;
}

int64_t tisim_write(enum tisim_word word, const int64_t* arguments, size_t count,
                    const struct tisim_named* named, bool always) {
  if (writer == NULL || (tisim_state.paused && !always)) return -1;
  write_volume();
  tisim_write_samples(calls++);
  int64_t before[TISIM_MOST_TEXTS];
  const size_t before_count = settings.has_arguments ? tisim_deferred_calls(writer, before) : 0;
  const struct tisim_call call = {
      word,
      arguments,
      count,
      named,
      call_site,
      is_nested_posix ? -1 : take_duration(),
      tisim_layer(writer),
      is_nested_posix || !settings.has_arguments ? -1 : tisim_arguments(writer),
      before,
      before_count};
  const int64_t ticket = tisim_writer_call(writer, &call);
  if (tisim_writer_error(writer) != NULL) stop_after_error();
  return ticket;
}

void tisim_write_matched(int64_t ticket, int64_t source) {
  if (writer != NULL && ticket >= 0) tisim_writer_matched(writer, ticket, source);
}

int64_t* tisim_numbers(size_t count) {
  static struct tisim_buffer numbers;
  return tisim_buffer(&numbers, count * sizeof(int64_t));
}
