/* The begin and end of each call: DIRECTORY/rank-N.times, a text table.
 *
 * The first line names the columns: begin,end,function, in nanoseconds of the host's clock. Lines
 * "# clock NOW OFFSET ERROR", one at the start and one at the end of the program, give the offset
 * of that clock ahead of rank 0's, and its error, in nanoseconds. */
#ifndef TISIM_TIMELINE_H
#define TISIM_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

/* Returns nanoseconds of the host's clock. */
uint64_t tisim_now(void);
/* After MPI_Init, on all ranks; `is_written`: also on this one. */
void tisim_begin_timeline(const char* directory, bool is_written);
void tisim_timeline_call(const char* function, uint64_t begin, uint64_t end);
/* Before MPI_Finalize, on all ranks. */
void tisim_end_timeline(void);
/* On this rank only: the program aborts. */
void tisim_close_timeline(void);

#endif
