/* Volumes of computations: counters, threads, accelerators, and code that does not count itself. */
#ifndef TISIM_COUNTING_H
#define TISIM_COUNTING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "writer.h"

/* counter.c: what a computation amounts to. */
/* Nanoseconds of processor time of the calling thread. */
uint64_t tisim_thread_time(void);
const char* tisim_counter_begin(const char* name, double reference_speed);
/* What so many nanoseconds are, for a counter of time. */
uint64_t tisim_volume_of_time(uint64_t nanoseconds);
/* Since the last restart, less what an empty computation counts. A counter in a register is read
 * only where `caller`, which has called the wrapper, is code of the program that counts: elsewhere
 * the register has another meaning. */
uint64_t tisim_counter_take(const void* caller);
/* True if each thread has a count of its own. */
bool tisim_counts_threads(void);
/* `units` are what an empty computation counts, as reading the counter takes time. Returns what is
 * subtracted from each computation. */
uint64_t tisim_set_empty_computation(uint64_t units);
/* Before the program goes on; what MPI has called back in the program is not counted. */
void tisim_counter_restart(void);

/* Around what a handler of a signal does, on the thread that called MPI_Init: no computation of the
 * program. */
uint64_t tisim_counter_now(void);
void tisim_counter_resume(uint64_t before);

/* qemu.c: the count of QEMU's plug-in; NULL where the program does not run under it. */
extern const volatile uint64_t* tisim_qemu_count;

/* An event that the kernel counts for the calling thread: perf_event_open. */
struct tisim_perf_event {
  int file; /* -1: not open */
  const volatile void*
      page;      /* by which it may be read without a system call; NULL: there is none */
  uint64_t last; /* the last reading */
};

/* Opens a counter of this thread in user mode. `type` and `config` are as in struct
 * perf_event_attr. */
bool tisim_open_perf_event(struct tisim_perf_event* event, uint32_t type, uint64_t config);
/* The count so far. Where other users share the counter, it runs for a part of the time, and is
 * extrapolated. */
uint64_t tisim_read_perf_event(struct tisim_perf_event* event);

/* Counters beside that of the volumes: attributes of the computations of the thread that has called
 * MPI_Init. */
/* `list` is NAME=time or NAME=TYPE:CONFIG*WEIGHT+..., of events of the kernel, separated by commas;
 * NULL: there are none. On the thread that is counted. False, after a message, if one of them does
 * not work. */
bool tisim_begin_further_counters(const char* list);
/* Makes them known to the writer. */
void tisim_name_further_counters(tisim_writer* writer);
/* Finds what an empty computation counts, with the first counter and those beside it: the median of
 * some. From here on it is subtracted from each. */
void tisim_measure_empty_computation(void);
/* Writes that to the rank's notes, by the names of the counters. */
void tisim_note_empty_computation(FILE* notes, const char* first);
/* Before a call, and before the program goes on. */
void tisim_take_further_counts(void);
void tisim_restart_further_counters(void);
/* Says what was counted of the computation that the writer gets next; NULL: it gets none. */
void tisim_write_further_counts(tisim_writer* writer);
/* The counts of it so far, and a return to them. */
#define TISIM_MOST_COUNTERS 16
void tisim_copy_further_counts(uint64_t counts[]);
void tisim_lower_further_counts(const uint64_t counts[]);

/* polling.c: the volume of the computation since the last of so many lines, without rounds of
 * polling of at most `most` each. The program has asked about what `key` stands for. */
uint64_t tisim_without_polling(uint64_t key, bool answer, uint64_t lines, uint64_t volume,
                               uint64_t most);
/* Writes what was left out so to the rank's notes. */
void tisim_note_polling(FILE* notes);

/* counter.c: what the threads of the rank have computed since the last call was written. */
struct tisim_threads {
  uint64_t largest;
  uint64_t sum;
  uint32_t count; /* of threads that have computed */
};
void tisim_add_thread_volume(uint64_t volume);
/* `first`: the volume of the thread that called MPI_Init. */
struct tisim_threads tisim_take_threads(uint64_t first);

/* uncounted.c: how much is computed by code that does not count itself. */
void tisim_begin_uncounted(void);
void tisim_end_uncounted(FILE* notes);

/* outside.c: what else takes time. After MPI_Init, which took so many nanoseconds. */
void tisim_begin_outside(uint64_t in_init);
void tisim_note_outside(FILE* notes);

/* cold_caches.c: takes the rank's data out of the caches, where the processor can. */
bool tisim_can_empty_caches(void);
void tisim_empty_caches(void);

/* accelerators.c: how much of the time since the beginning the rank has waited for accelerators. */
void tisim_begin_accelerators(void);
int tisim_accelerator_percent(void);

#endif
