/* Counters: what a computation between two calls amounts to.
 *
 * time      processor time of the thread, times a reference speed
 * perf      instructions in user mode, counted by the processor
 * register  instructions that a program compiled by `tisim cc` has counted itself, in r15. This
 *           file is compiled with -ffixed-r15, so that its own code leaves the register alone.
 * qemu      instructions that a plug-in of QEMU counts, under which the program runs (qemu.c)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "further_counters.h"
#include "perf_event.h"
#include "record.h"

#ifdef __linux__
#include <linux/perf_event.h>
#else
enum { PERF_TYPE_HARDWARE, PERF_TYPE_SOFTWARE };
enum { PERF_COUNT_SW_TASK_CLOCK = 1, PERF_COUNT_HW_INSTRUCTIONS = 1 };
#endif

enum kind { KIND_TIME, KIND_PERF, KIND_REGISTER, KIND_QEMU };

static enum kind kind;
static double units_per_nanosecond;
static _Thread_local uint64_t last;
static uint64_t last_of_all; /* threads, of which QEMU's plug-in makes no difference */
static char description[128];

/* What a program has that `tisim cc` has linked: its instructions that are not in the register, and
 * whether an address is in code that counts. */
extern uint64_t *tisim_counted_elsewhere(void) __attribute__((weak));
extern int tisim_is_counted(const void *address) __attribute__((weak));

static uint64_t thread_nanoseconds(void) {
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

/* Each thread has an event of its own. */
static uint64_t read_perf(void) {
  if (perf.file < 0) open_perf();
  return tisim_read_perf_event(&perf);
}

static uint64_t take_register(const void *caller) {
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

const char *tisim_counter_begin(const char *name, double reference_speed) {
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
  kind = KIND_TIME;
  units_per_nanosecond = reference_speed * 1e-9;
  snprintf(description, sizeof description, "time, seconds of processor time times %.9g",
           reference_speed);
  return description;
}

bool tisim_counts_threads(void) { return kind != KIND_QEMU; }

uint64_t tisim_counter_take(const void *caller) {
  if (kind == KIND_QEMU) {
    const uint64_t now = *tisim_qemu_count;
    const uint64_t units = now - last_of_all;
    last_of_all = now;
    return units;
  }
  if (kind == KIND_REGISTER) return take_register(caller);
  const uint64_t now = kind == KIND_PERF ? read_perf() : thread_nanoseconds();
  const uint64_t units = now > last ? now - last : 0;
  last = now;
  return kind == KIND_PERF ? units : (uint64_t)((double)units * units_per_nanosecond + 0.5);
}

static uint64_t reading(void) {
  if (kind == KIND_QEMU) return *tisim_qemu_count;
  if (kind == KIND_REGISTER) return *tisim_counted_elsewhere();
  return kind == KIND_PERF ? read_perf() : thread_nanoseconds();
}

uint64_t tisim_counter_now(void) {
  const uint64_t now = reading();
  if (tisim_is_recorded_thread()) tisim_take_further_counts();
  return now;
}

void tisim_counter_restart(void) {
  if (kind == KIND_QEMU) {
    last_of_all = reading();
  } else if (kind == KIND_REGISTER) {
    *tisim_counted_elsewhere() = 0;
  } else {
    last = reading();
  }
}

void tisim_counter_resume(uint64_t before) {
  if (tisim_is_recorded_thread()) tisim_restart_further_counters();
  if (kind == KIND_REGISTER) {
    *tisim_counted_elsewhere() = before;
  } else if (kind == KIND_QEMU) {
    last_of_all += reading() - before;
  } else {
    last += reading() - before;
  }
}
