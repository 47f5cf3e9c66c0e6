/* Places in the program: of its calls, and of its computations. */
#ifndef TISIM_PLACES_H
#define TISIM_PLACES_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "writer.h"

/* The program and its libraries: what an address belongs to. */

#define TISIM_LONGEST_PLACE 96

/* Writes "MODULE+0xADDRESS" and a zero into `text`: the address as the module's file counts it.
 * Returns its length. The first time, a comment of the writer says what file the module is. */
size_t tisim_place_of(tisim_writer* writer, const void* address, char* text);

/* The stack of a thread, and the frames on it at the time of a signal. */

#define TISIM_MOST_FRAMES 128

/* The stack of the calling thread lies below this address. */
const char* tisim_end_of_stack(void);

/* In a handler of a signal: the addresses of the functions that the signal has interrupted, the
 * innermost first, as if each were one behind a call; returns their number. Calls nothing that a
 * handler may not call. `context`: the handler's third argument. */
int tisim_interrupted_frames(const void* context, const void** addresses);
/* True if the place that a signal interrupts can be found on this kind of processor. */
bool tisim_knows_interrupted_frames(void);

/* Where in the program a call is made: its call path. */

/* Call paths go to this writer from now on. */
void tisim_begin_call_sites(tisim_writer* writer);
/* The number of the call path that ends at `caller`, an address that a function of this recorder
 * returns to; -1: there is none. */
int64_t tisim_call_site(const void* caller);

/* Where in the program its computations are: call paths, sampled by a timer. */

/* A handler for a signal that the program does not use, of so many below the highest; 0: there is
 * none. */
typedef void (*tisim_handler)(int number, siginfo_t* info, void* context);
int tisim_take_signal(int highest, int tries, tisim_handler handler);
/* Sends it to the calling thread after each so many nanoseconds of its processor time. */
bool tisim_start_timer(timer_t* timer, int number, long interval);

/* Begins to sample the calling thread, into the file DIRECTORY/rank-N.samples. Comments about
 * modules go to the writer. */
void tisim_begin_samples(tisim_writer* writer, const char* directory, int rank);
/* Before call number `call` of the rank is written, in a call of MPI: writes what was sampled since
 * the one before. */
void tisim_write_samples(uint64_t call);
void tisim_end_samples(void);
/* Around what a thread computes in a parallel region. The first returns what the second needs. */
bool tisim_begin_region_samples(void);
void tisim_end_region_samples(bool before);

#endif
