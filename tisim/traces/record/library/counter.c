/* Counters: the volume of a computation between two calls.
 *
 * time      processor time of the thread, times a reference speed
 * elapsed   wall-clock time, with waits for processors, pages and files, times a reference speed
 * cold      time with data in memory: it is flushed from the caches before a computation
 * perf      instructions in user mode, counted by the processor
 * register  instructions that a program compiled by `tisim cc` counts itself, in r15. This file is
 *           compiled with -ffixed-r15, so that its own code does not change the register.
 * qemu      instructions counted by a QEMU plug-in, with the program running under QEMU
 */
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "counting.h"
#include "shared_count.h"
#include "state.h"
#include "timeline.h"
#include "user_page.h"

/* Opening and reading kernel events. */

#ifdef __x86_64__
static uint64_t read_counter(uint32_t number) {
  uint32_t low, high;
  __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(number));
  return (uint64_t)high << 32 | low;
}
#endif

bool tisim_open_perf_event(struct tisim_perf_event* event, uint32_t type, uint64_t config) {
  struct perf_event_attr asked;
  memset(&asked, 0, sizeof asked);
  asked.size = sizeof asked;
  asked.type = type;
  asked.config = config;
  asked.exclude_kernel = 1;
  asked.exclude_hv = 1;
  asked.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  event->file = (int)syscall(SYS_perf_event_open, &asked, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  event->page = NULL;
  event->last = 0;
  if (event->file < 0) return false;
  const size_t size = (size_t)sysconf(_SC_PAGESIZE);
  void* const page = mmap(NULL, size, PROT_READ, MAP_SHARED, event->file, 0);
  if (page != MAP_FAILED) event->page = page;
  return true;
}

uint64_t tisim_read_perf_event(struct tisim_perf_event* event) {
  struct {
    uint64_t value;
    uint64_t enabled;
    uint64_t running;
  } now;
#ifdef __x86_64__
  uint64_t count;
  if (event->page != NULL && tisim_read_user_page(event->page, read_counter, &count)) {
    return event->last = count;
  }
#endif
  if (event->file < 0) return event->last;
  if (read(event->file, &now, sizeof now) != (ssize_t)sizeof now) return event->last;
  if (now.running == 0) return event->last;
  if (now.running == now.enabled) return event->last = now.value;
  const double scaled = (double)now.value * ((double)now.enabled / (double)now.running);
  if ((uint64_t)scaled > event->last) event->last = (uint64_t)scaled;
  return event->last;
}
enum kind { KIND_TIME, KIND_ELAPSED, KIND_PERF, KIND_REGISTER, KIND_QEMU };

static enum kind kind;
static double units_per_nanosecond;
/* Data that fits into a core's cache stays there, regardless of the problem size. */
#define NEAR_CACHES_NANOSECONDS 200000

static bool is_cold;                          /* the counter `cold`, which measures time */
static _Thread_local uint64_t since_emptying; /* nanoseconds of computation */
static uint64_t empty_count; /* count of an empty computation, which includes reading the counter */
static _Thread_local uint64_t last;
static uint64_t last_of_all; /* all threads: QEMU's plug-in and a clock do not distinguish them */
static char description[128];

/* Defined by programs linked by `tisim cc`: their instructions that are not in the register, and
 * whether an address is in counting code. */
extern uint64_t* tisim_counted_elsewhere(void) __attribute__((weak));
extern int tisim_is_counted(const void* address) __attribute__((weak));

uint64_t tisim_thread_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static _Thread_local struct tisim_perf_event perf = {-1, NULL, 0};

static bool open_perf(void) {
  if (getenv("TISIM_RECORD_SOFTWARE_EVENT") != NULL) {
    return tisim_open_perf_event(&perf, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
  }
  return tisim_open_perf_event(&perf, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
}

/* Each thread has its own event. */
static uint64_t read_perf(void) {
  if (perf.file < 0) open_perf();
  return tisim_read_perf_event(&perf);
}

static uint64_t take_register(const void* caller) {
  uint64_t count = *tisim_counted_elsewhere();
  *tisim_counted_elsewhere() = 0;
#ifdef __x86_64__
  if (tisim_is_counted(caller)) {
    uint64_t in_register;
    __asm__ volatile("movq %%r15, %0\n\txorl %%r15d, %%r15d" : "=r"(in_register) : : "cc");
    count += in_register;
  }
#else
  (void)caller;
#endif
  return count;
}

const char* tisim_counter_begin(const char* name, double reference_speed) {
  if (strcmp(name, "perf") == 0) {
    kind = KIND_PERF;
    if (!open_perf()) return NULL;
    return getenv("TISIM_RECORD_SOFTWARE_EVENT") == NULL
               ? "perf, instructions in user mode"
               : "perf, nanoseconds of the software event task-clock";
  }
  if (strcmp(name, "register") == 0) {
    if (tisim_counted_elsewhere == NULL || tisim_is_counted == NULL) return NULL;
    kind = KIND_REGISTER;
    return "register, instructions of code compiled by tisim cc";
  }
  if (strcmp(name, "qemu") == 0) {
    if (tisim_qemu_count == NULL) return NULL;
    kind = KIND_QEMU;
    return "qemu, instructions of all code, a repeated one once";
  }
  kind = strcmp(name, "elapsed") == 0 ? KIND_ELAPSED : KIND_TIME;
  is_cold = strcmp(name, "cold") == 0;
  if (is_cold && !tisim_can_empty_caches()) return NULL;
  units_per_nanosecond = reference_speed * 1e-9;
  snprintf(description, sizeof description, "%s times %.9g%s",
           kind == KIND_TIME ? "time, seconds of processor time" : "elapsed, seconds",
           reference_speed, is_cold ? ", with cold caches" : "");
  return description;
}

bool tisim_counts_threads(void) { return kind != KIND_QEMU && kind != KIND_ELAPSED; }

uint64_t tisim_volume_of_time(uint64_t nanoseconds) {
  return (uint64_t)((double)nanoseconds * units_per_nanosecond + 0.5);
}

static uint64_t reading(void) {
  switch (kind) {
    case KIND_QEMU:
      return *tisim_qemu_count;
    case KIND_REGISTER:
      return *tisim_counted_elsewhere();
    case KIND_PERF:
      return read_perf();
    case KIND_ELAPSED:
      return tisim_now();
    case KIND_TIME:
      break;
  }
  return tisim_thread_time();
}

static uint64_t take(const void* caller) {
  if (kind == KIND_REGISTER) return take_register(caller);
  uint64_t* const before = tisim_counts_threads() ? &last : &last_of_all;
  const uint64_t now = reading();
  const uint64_t units = now > *before ? now - *before : 0;
  *before = now;
  if (is_cold) since_emptying += units;
  return kind == KIND_PERF || kind == KIND_QEMU ? units : tisim_volume_of_time(units);
}

uint64_t tisim_counter_take(const void* caller) {
  const uint64_t units = take(caller);
  return units > empty_count ? units - empty_count : 0;
}

uint64_t tisim_set_empty_computation(uint64_t units) {
  /* QEMU's plug-in skips the recorder, and the register counts only code of the program. */
  empty_count = kind == KIND_QEMU || kind == KIND_REGISTER ? 0 : units;
  return empty_count;
}

uint64_t tisim_counter_now(void) {
  const uint64_t now = reading();
  if (tisim_is_recorded_thread()) tisim_take_further_counts();
  return now;
}

void tisim_counter_restart(void) {
  if (is_cold && since_emptying >= NEAR_CACHES_NANOSECONDS) {
    since_emptying = 0;
    tisim_empty_caches();
  }
  if (kind == KIND_REGISTER) {
    *tisim_counted_elsewhere() = 0;
  } else if (!tisim_counts_threads()) {
    last_of_all = reading();
  } else {
    last = reading();
  }
}

void tisim_counter_resume(uint64_t before) {
  if (tisim_is_recorded_thread()) tisim_restart_further_counters();
  if (kind == KIND_REGISTER) {
    *tisim_counted_elsewhere() = before;
  } else if (!tisim_counts_threads()) {
    last_of_all += reading() - before;
  } else {
    last += reading() - before;
  }
}

/* The counter of a program under QEMU with tisim's plug-in: a file that both map. */

const volatile uint64_t* tisim_qemu_count;

/* Finds the address range of this library's code. */
static int find_own_code(struct dl_phdr_info* module, size_t size, void* found) {
  (void)size;
  struct tisim_shared_count* const shared = found;
  const uintptr_t own = (uintptr_t)&find_own_code;
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const uintptr_t begin = (uintptr_t)module->dlpi_addr + (uintptr_t)module->dlpi_phdr[i].p_vaddr;
    const uintptr_t end = begin + (uintptr_t)module->dlpi_phdr[i].p_memsz;
    if (module->dlpi_phdr[i].p_type != PT_LOAD || own < begin || own >= end) continue;
    shared->skipped_begin = begin;
    shared->skipped_end = end;
    return 1;
  }
  return 0;
}

/* Runs before any other code of this library is translated. */
__attribute__((constructor)) static void find_count(void) {
  const char* const prefix = getenv("TISIM_RECORD_QEMU");
  char path[4096];
  if (prefix == NULL) return;
  snprintf(path, sizeof path, "%s-%ld", prefix, (long)getpid());
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return; /* the launcher, or QEMU itself, which also loads this library */
  void* const shared =
      mmap(NULL, sizeof(struct tisim_shared_count), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  unlink(path);
  if (shared == MAP_FAILED) return;
  dl_iterate_phdr(find_own_code, shared);
  tisim_qemu_count = &((struct tisim_shared_count*)shared)->instructions;
}

/* The threads of parallel regions.
 *
 * A thread other than the one that called MPI_Init adds to its own slot. Slots are emptied when a
 * call is written: with MPI_THREAD_SERIALIZED another thread may do so, hence the atomic
 * operations. */

#define MOST_THREADS 4096

struct place {
  _Alignas(64) atomic_uint_least64_t volume;
};

static struct place places[MOST_THREADS];
static atomic_int place_count;
static atomic_bool has_regions;
static _Thread_local int my_place = -1;

void tisim_add_thread_volume(uint64_t volume) {
  if (my_place < 0) my_place = atomic_fetch_add(&place_count, 1);
  /* Threads beyond the last slot share it. */
  const int place = my_place < MOST_THREADS ? my_place : MOST_THREADS - 1;
  atomic_fetch_add(&places[place].volume, volume);
  atomic_store(&has_regions, true);
}

struct tisim_threads tisim_take_threads(uint64_t first) {
  struct tisim_threads all = {first, first, first != 0};
  if (!atomic_load(&has_regions)) return all;
  atomic_store(&has_regions, false);
  const int count = atomic_load(&place_count);
  for (int i = 0; i < count && i < MOST_THREADS; ++i) {
    const uint64_t volume = atomic_exchange(&places[i].volume, 0);
    if (volume == 0) continue;
    ++all.count;
    all.sum += volume;
    if (volume > all.largest) all.largest = volume;
  }
  return all;
}
