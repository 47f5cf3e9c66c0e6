/* A clock of the thread's processor time sends a signal, whose handler adds the interrupted
 * functions to a tree of call paths, in preallocated memory. Samples between two MPI calls are
 * written before the second one, outside the handler.
 *
 * The threads of a parallel region and those that the program creates have their own clocks, and
 * add to the same tree, which is protected by a lock. A handler does not wait long for it: the
 * holder may be writing.
 *
 * Consecutive samples of one node are a run; runs keep their order. In a computation with too many,
 * further samples of a node join the node's last run.
 *
 * Lines of the file: "node PARENT PLACE", numbered from 1 in order; PARENT 0 is the root. "at CALL
 * NODE SAMPLES ...": runs before call number CALL. "unordered SAMPLES": those that could not begin
 * a run. "end SIGNALS IN-CALLS LOST NANOSECONDS". */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "counting.h"
#include "places.h"
#include "session.h"
#include "state.h"

/* Nanoseconds of processor time. The kernel's performance events are as precise as its clocks. If a
 * program may not use them, timers are used, which the kernel checks at its ticks, mostly 250 times
 * a second. */
#define INTERVAL 1000000
#define MOST_NODES (1 << 16) /* of the tree */
#define PLACES (2 * MOST_NODES)
#define MOST_ORDERED (1 << 16) /* runs between two calls; beyond that, only one per node */
#define MOST_RUNS (MOST_ORDERED + 4096)
#define LONGEST_PATH 4096
#define SIGNALS_TO_TRY 16
#define MOST_THREADS 1024 /* besides the first; others are not sampled */
#define TRIES 1000        /* attempts to take the lock */

struct node {
  const void* address;
  uint32_t parent;
  uint32_t run;    /* the last that ends here, since the previous call; 0: none */
  uint32_t number; /* in the file; 0: not yet written */
};

struct run {
  uint32_t node;
  uint32_t samples;
};

struct tree {
  struct node nodes[MOST_NODES];  /* 0 is the root */
  uint32_t places[PLACES];        /* hash table of nodes; 0: free */
  struct run runs[MOST_RUNS + 1]; /* from 1 */
  uint32_t node_count;
  uint32_t run_count;
};

/* The source of a thread's signals. */
struct clock {
  int event; /* -1: a timer is used instead */
  timer_t timer;
};

/* A thread of parallel regions, or one created by the program. */
struct sampled_thread {
  struct clock clock;
  atomic_bool has_clock;
  uint64_t began;
  atomic_uint_least64_t nanoseconds; /* of processor time while sampled */
};

static struct tree* tree; /* NULL: nothing is sampled */
static tisim_writer* writer;
static FILE* file;
static uint32_t written; /* number of nodes */
static struct clock first_clock;
static int signal_number;
static uint64_t began;
static atomic_flag tree_lock = ATOMIC_FLAG_INIT;
static atomic_uint_least64_t signals;
static atomic_uint_least64_t in_calls;
static atomic_uint_least64_t lost;
static atomic_uint_least64_t unordered; /* samples of nodes that could have no further run */

static struct sampled_thread threads[MOST_THREADS];
static atomic_int thread_count;
static pthread_t first_thread;
static pthread_key_t ends_thread;                /* by its destructor */
static _Thread_local struct sampled_thread* own; /* NULL: the first, or not sampled */
static _Thread_local bool is_in_region;

/* ---- in the handler ---- */

/* Returns 0 if there is no room for another node. */
static uint32_t child(uint32_t parent, const void* address) {
  const uint64_t mixed = ((uint64_t)(uintptr_t)address + parent) * UINT64_C(0x9E3779B97F4A7C15);
  uint32_t place = (uint32_t)(mixed >> 40) & (PLACES - 1);
  for (uint32_t number; (number = tree->places[place]) != 0; place = (place + 1) & (PLACES - 1)) {
    if (tree->nodes[number].parent == parent && tree->nodes[number].address == address) {
      return number;
    }
  }
  if (tree->node_count == MOST_NODES) return 0;
  const uint32_t number = tree->node_count++;
  tree->nodes[number] = (struct node){.address = address, .parent = parent};
  tree->places[place] = number;
  return number;
}

static void add_sample(const void* const* addresses, int count) {
  uint32_t number = 0;
  for (int i = count; i-- > 0;) {
    number = child(number, addresses[i]);
    if (number == 0) break;
  }
  struct node* const node = &tree->nodes[number];
  const bool is_full = tree->run_count >= MOST_ORDERED;
  if (number == 0 || (node->run == 0 && tree->run_count == MOST_RUNS)) {
    atomic_fetch_add(&lost, 1);
  } else if (node->run != 0 && (is_full || node->run == tree->run_count)) {
    ++tree->runs[node->run].samples;
    if (is_full) atomic_fetch_add(&unordered, 1);
  } else {
    node->run = ++tree->run_count;
    tree->runs[node->run] = (struct run){.node = number, .samples = 1};
  }
}

static bool lock_tree(void) {
  for (int i = 0; i < TRIES; ++i) {
    if (!atomic_flag_test_and_set_explicit(&tree_lock, memory_order_acquire)) return true;
  }
  return false;
}

static void unlock_tree(void) { atomic_flag_clear_explicit(&tree_lock, memory_order_release); }

static bool is_computing(void) {
  if (tisim_is_in_call() || !tisim_is_active()) return false;
  return own == NULL || is_in_region;
}

static void sample(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)info;
  if (tree == NULL) return;
  const int error = errno;
  atomic_fetch_add(&signals, 1);
  if (own != NULL) atomic_store(&own->nanoseconds, tisim_thread_time() - own->began);
  if (!is_computing()) {
    atomic_fetch_add(&in_calls, 1);
    errno = error;
    return;
  }
  const uint64_t counted = tisim_counter_now();
  const void* addresses[TISIM_MOST_FRAMES];
  const int count = tisim_interrupted_frames(context, addresses);
  if (!lock_tree()) {
    atomic_fetch_add(&lost, 1);
  } else {
    if (tree != NULL) add_sample(addresses, count);
    unlock_tree();
  }
  tisim_counter_resume(counted);
  errno = error;
}

/* ---- in calls of MPI ---- */

static void write_node(uint32_t number) {
  struct node* const node = &tree->nodes[number];
  if (number == 0 || node->number != 0) return;
  char place[TISIM_LONGEST_PLACE];
  write_node(node->parent);
  tisim_place_of(writer, node->address, place);
  fprintf(file, "node %u %s\n", (unsigned)tree->nodes[node->parent].number, place);
  node->number = ++written;
}

static void wait_for_tree(void) {
  while (!lock_tree()) continue;
}

void tisim_write_samples(uint64_t call) {
  if (tree == NULL || tree->run_count == 0) return;
  wait_for_tree();
  for (uint32_t i = 1; i <= tree->run_count; ++i) write_node(tree->runs[i].node);
  fprintf(file, "at %llu", (unsigned long long)call);
  for (uint32_t i = 1; i <= tree->run_count; ++i) {
    struct node* const node = &tree->nodes[tree->runs[i].node];
    fprintf(file, " %u %u", (unsigned)node->number, (unsigned)tree->runs[i].samples);
    node->run = 0;
  }
  fputc('\n', file);
  fflush(file); /* otherwise a forked process would write it too */
  tree->run_count = 0;
  unlock_tree();
}

/* ---- beginning and end ---- */

static void complain(const char* what) {
  fprintf(stderr, "tisim record: computations are not sampled: %s\n", what);
}

int tisim_take_signal(int highest, int tries, tisim_handler handler) {
  for (int number = highest; number > highest - tries; --number) {
    struct sigaction action;
    if (number < SIGRTMIN || sigaction(number, NULL, &action) != 0) return 0;
    if ((action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler != SIG_DFL) continue;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    return sigaction(number, &action, NULL) == 0 ? number : 0;
  }
  return 0;
}

/* Opens an event of the calling thread that sends signals; -1 if the kernel does not allow it. */
static int open_event(pid_t thread) {
  struct perf_event_attr what;
  memset(&what, 0, sizeof what);
  what.type = PERF_TYPE_SOFTWARE;
  what.size = sizeof what;
  what.config = PERF_COUNT_SW_TASK_CLOCK;
  what.sample_period = INTERVAL;
  what.wakeup_events = 1;
  what.exclude_hv = 1;
  int event = -1;
  for (int user_alone = 0; user_alone < 2 && event < 0; ++user_alone) {
    what.exclude_kernel = user_alone != 0;
    event = (int)syscall(SYS_perf_event_open, &what, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  }
  if (event < 0) return -1;
  const struct f_owner_ex owner = {F_OWNER_TID, thread};
  if (fcntl(event, F_SETSIG, signal_number) == 0 && fcntl(event, F_SETOWN_EX, &owner) == 0 &&
      fcntl(event, F_SETFL, O_ASYNC | O_NONBLOCK) == 0) {
    return event;
  }
  close(event);
  return -1;
}

bool tisim_start_timer(timer_t* timer, int number, long interval) {
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = number;
  event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
  if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, timer) != 0) return false;
  const struct itimerspec times = {{0, interval}, {0, interval}};
  return timer_settime(*timer, 0, &times, NULL) == 0;
}

/* Starts a clock of the calling thread. */
static bool start_clock(struct clock* clock) {
  clock->event = open_event((pid_t)syscall(SYS_gettid));
  return clock->event >= 0 || tisim_start_timer(&clock->timer, signal_number, INTERVAL);
}

static void stop_clock(const struct clock* clock) {
  if (clock->event >= 0) {
    close(clock->event);
  } else {
    timer_delete(clock->timer);
  }
}

static void end_thread(void* ended) {
  struct sampled_thread* const thread = ended;
  if (atomic_exchange(&thread->has_clock, false)) stop_clock(&thread->clock);
}

static void begin_thread(void) {
  const int number = atomic_fetch_add(&thread_count, 1);
  if (number >= MOST_THREADS) return;
  struct sampled_thread* const thread = &threads[number];
  thread->began = tisim_thread_time();
  tisim_end_of_stack();
  own = thread;
  if (!start_clock(&thread->clock)) return;
  atomic_store(&thread->has_clock, true);
  pthread_setspecific(ends_thread, thread);
}

bool tisim_begin_region_samples(void) {
  const bool before = is_in_region;
  if (tree == NULL || pthread_equal(pthread_self(), first_thread)) return before;
  if (own == NULL) begin_thread();
  is_in_region = true;
  return before;
}

void tisim_end_region_samples(bool before) { is_in_region = before; }

/* Threads created by the program compute from their start to their end. */

struct begun_thread {
  void* (*body)(void*);
  void* argument;
};

static void* run_thread(void* begun_as) {
  const struct begun_thread thread = *(struct begun_thread*)begun_as;
  free(begun_as);
  begin_thread();
  is_in_region = true;
  tisim_counter_restart();
  return thread.body(thread.argument);
}

/* Excludes MPI's threads, which are created in calls and by each other, and OpenMP's. */
static bool is_programs_thread(const void* caller) {
  Dl_info info;
  if (tree == NULL || tisim_is_in_call()) return false;
  if (own == NULL && !pthread_equal(pthread_self(), first_thread)) return false;
  return dladdr(caller, &info) == 0 || info.dli_fname == NULL ||
         (strstr(info.dli_fname, "libgomp.") == NULL && strstr(info.dli_fname, "omp.so") == NULL);
}

EXPORTED int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                            void* (*body)(void*), void* argument) {
  static int (*perform)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (perform == NULL) {
    void* const hidden = dlsym(RTLD_NEXT, "pthread_create");
    if (hidden == NULL) return ENOSYS;
    memcpy(&perform, &hidden, sizeof hidden);
  }
  struct begun_thread* const begun_as =
      is_programs_thread(TISIM_CALLER) ? malloc(sizeof *begun_as) : NULL;
  if (begun_as == NULL) return perform(thread, attributes, body, argument);
  *begun_as = (struct begun_thread){body, argument};
  const int error = perform(thread, attributes, run_thread, begun_as);
  if (error != 0) free(begun_as);
  return error;
}

static void* memory_for_tree(void) {
  void* const memory =
      mmap(NULL, sizeof *tree, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

void tisim_begin_samples(tisim_writer* its_writer, const char* directory, int rank) {
  char path[LONGEST_PATH];
  if (!tisim_knows_interrupted_frames()) {
    complain("not supported on this kind of processor");
    return;
  }
  snprintf(path, sizeof path, "%s/rank-%d.samples", directory, rank);
  file = fopen(path, "we");
  struct tree* const made = file == NULL ? NULL : memory_for_tree();
  if (made == NULL) {
    complain(strerror(errno));
    return;
  }
  made->node_count = 1;
  writer = its_writer;
  tisim_end_of_stack(); /* must not happen first in the handler */
  signal_number = tisim_take_signal(SIGRTMAX - 3, SIGNALS_TO_TRY, sample);
  if (signal_number == 0) {
    complain("the program uses all signals");
    return;
  }
  first_thread = pthread_self();
  pthread_key_create(&ends_thread, end_thread);
  tree = made;
  began = tisim_thread_time();
  if (!start_clock(&first_clock)) {
    complain("the kernel has no timer of a thread's processor time");
    tree = NULL;
  }
}

void tisim_end_samples(void) {
  if (tree == NULL) return;
  struct sigaction action;
  uint64_t nanoseconds = tisim_thread_time() - began;
  stop_clock(&first_clock);
  const int count = atomic_load(&thread_count);
  for (int i = 0; i < count && i < MOST_THREADS; ++i) {
    end_thread(&threads[i]);
    nanoseconds += atomic_load(&threads[i].nanoseconds);
  }
  if (sigaction(signal_number, NULL, &action) == 0 && action.sa_sigaction != sample) {
    complain("the program has taken the signal of samples for itself");
  }
  const uint64_t joined = atomic_load(&unordered);
  if (joined > 0) fprintf(file, "unordered %llu\n", (unsigned long long)joined);
  fprintf(file, "end %llu %llu %llu %llu\n", (unsigned long long)atomic_load(&signals),
          (unsigned long long)atomic_load(&in_calls), (unsigned long long)atomic_load(&lost),
          (unsigned long long)nanoseconds);
  if (fclose(file) != 0) complain(strerror(errno));
  wait_for_tree();
  tree = NULL;
  unlock_tree();
}
