/* Locations in the program of its calls and its computations. */
#ifndef TISIM_PLACES_H
#define TISIM_PLACES_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "writer.h"

/* The program and its libraries: resolution of addresses. */

#define TISIM_LONGEST_PLACE 96

/* Writes "MODULE+0xADDRESS" and a zero into `text`, with the address relative to the module's file.
 * Returns its length. On first use of a module, a comment of the writer identifies its file. */
size_t tisim_place_of(tisim_writer* writer, const void* address, char* text);

/* The stack of a thread, and the frames on it at the time of a signal. */

#define TISIM_MOST_FRAMES 128

/* Returns the upper end of the calling thread's stack. */
const char* tisim_end_of_stack(void);

/* Called in a signal handler: stores the addresses of the interrupted functions, innermost first,
 * each as if it followed a call; returns their number. Async-signal-safe. `context`: the handler's
 * third argument. */
int tisim_interrupted_frames(const void* context, const void** addresses);
/* True if the interrupted location can be determined on this processor architecture. */
bool tisim_knows_interrupted_frames(void);

/* The location of a call in the program: its call path. */

/* Directs call paths to this writer from here on. */
void tisim_begin_call_sites(tisim_writer* writer);
/* Returns the number of the call path that ends at `caller`, an address to which a function of this
 * recorder returns; -1 if there is none. */
int64_t tisim_call_site(const void* caller);

/* The location of computations in the program: call paths sampled by a timer. */

/* Installs a handler for an unused signal among `tries` ones, from `highest` down; returns 0 if
 * there is none. */
typedef void (*tisim_handler)(int number, siginfo_t* info, void* context);
int tisim_take_signal(int highest, int tries, tisim_handler handler);
/* Sends it to the calling thread every `interval` nanoseconds of its processor time. */
bool tisim_start_timer(timer_t* timer, int number, long interval);

/* Starts sampling the calling thread into the file DIRECTORY/rank-N.samples. Comments about modules
 * go to the writer. */
void tisim_begin_samples(tisim_writer* writer, const char* directory, int rank);
/* Writes the samples since the previous call. Called before call number `call` of the rank is
 * written, inside an MPI call. */
void tisim_write_samples(uint64_t call);
void tisim_end_samples(void);
/* Bracket a thread's computation in a parallel region; the second takes the result of the first. */
bool tisim_begin_region_samples(void);
void tisim_end_region_samples(bool before);

#endif
