/* Volumes of computations: counters, threads, accelerators, and code that does not count itself. */
#ifndef TISIM_COUNTING_H
#define TISIM_COUNTING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "writer.h"

/* counter.c: the volume of a computation. */
/* Nanoseconds of processor time of the calling thread. */
uint64_t tisim_thread_time(void);
const char* tisim_counter_begin(const char* name, double reference_speed);
/* Converts nanoseconds to units, for a counter of time. */
uint64_t tisim_volume_of_time(uint64_t nanoseconds);
/* Returns the count since the last restart, minus that of an empty computation. A counter in a
 * register is read only if `caller`, which called the wrapper, is counting code of the program:
 * elsewhere the register has another meaning. */
uint64_t tisim_counter_take(const void* caller);
/* True if each thread has its own count. */
bool tisim_counts_threads(void);
/* Sets the count of an empty computation, which includes reading the counter. Returns the amount
 * subtracted from each computation. */
uint64_t tisim_set_empty_computation(uint64_t units);
/* Called before the program resumes; code that MPI calls back in the program is not counted. */
void tisim_counter_restart(void);

/* Bracket a signal handler on the thread that called MPI_Init: it is not a computation of the
 * program. */
uint64_t tisim_counter_now(void);
void tisim_counter_resume(uint64_t before);

/* counter.c: the count of QEMU's plug-in; NULL if the program does not run under it. */
extern const volatile uint64_t* tisim_qemu_count;

/* An event that the kernel counts for the calling thread, see perf_event_open. */
struct tisim_perf_event {
  int file;                  /* -1: not open */
  const volatile void* page; /* for reading it without a system call; NULL: unavailable */
  uint64_t last;             /* the last reading */
};

/* Opens a counter of this thread in user mode. `type` and `config` are as in struct
 * perf_event_attr. */
bool tisim_open_perf_event(struct tisim_perf_event* event, uint32_t type, uint64_t config);
/* Returns the count so far. A counter shared with other users runs only part of the time and is
 * extrapolated. */
uint64_t tisim_read_perf_event(struct tisim_perf_event* event);

/* Additional counters: attributes of the computations of the thread that called MPI_Init. */
/* `list` is NAME=time or NAME=TYPE:CONFIG*WEIGHT+..., of kernel events, separated by commas; NULL
 * if there are none. Called on the counted thread. Returns false, after a message, if one of them
 * does not work. */
bool tisim_begin_further_counters(const char* list);
/* Registers them with the writer. */
void tisim_name_further_counters(tisim_writer* writer);
/* Measures the count of an empty computation, for the first counter and the additional ones: the
 * median of several. From here on it is subtracted from each computation. */
void tisim_measure_empty_computation(void);
/* Writes these counts to the rank's notes, by counter name. */
void tisim_note_empty_computation(FILE* notes, const char* first);
/* Called before a call, and before the program resumes. */
void tisim_take_further_counts(void);
void tisim_restart_further_counters(void);
/* Passes the counts of the next computation to the writer; NULL if the writer gets none. */
void tisim_write_further_counts(tisim_writer* writer);
/* Save and restore its counts so far. */
#define TISIM_MOST_COUNTERS 16
void tisim_copy_further_counts(uint64_t counts[]);
void tisim_lower_further_counts(const uint64_t counts[]);

/* polling.c: returns the volume of the computation since the last of `lines` lines, without polling
 * rounds of at most `most` each. `key` identifies the object that the program has tested. */
uint64_t tisim_without_polling(uint64_t key, bool answer, uint64_t lines, uint64_t volume,
                               uint64_t most);
/* Writes the volume left out this way to the rank's notes. */
void tisim_note_polling(FILE* notes);

/* counter.c: the computation of the rank's threads since the last written call. */
struct tisim_threads {
  uint64_t largest;
  uint64_t sum;
  uint32_t count; /* number of threads that have computed */
};
void tisim_add_thread_volume(uint64_t volume);
/* `first`: the volume of the thread that called MPI_Init. */
struct tisim_threads tisim_take_threads(uint64_t first);

/* uncounted.c: the share of computation by code that does not count itself. */
void tisim_begin_uncounted(void);
void tisim_end_uncounted(FILE* notes);

/* overheads.c: other costs of time. Called after MPI_Init, which took `in_init` nanoseconds. */
void tisim_begin_overheads(uint64_t in_init);
void tisim_note_overheads(FILE* notes);

/* cold_caches.c: flushes the rank's data from the caches, if the processor supports it. */
bool tisim_can_empty_caches(void);
void tisim_empty_caches(void);

/* accelerators.c: the share of time since the beginning that the rank waited for accelerators. */
void tisim_begin_accelerators(void);
int tisim_accelerator_percent(void);

#endif
