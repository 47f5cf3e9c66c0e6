/* When each call began and ended: DIRECTORY/rank-N.times, a table of text.
 *
 * The first line names the columns: begin,end,function, in nanoseconds of the host's clock. Lines
 * "# clock NOW OFFSET ERROR", one when the program begins and one when it ends, say by how much
 * that clock is ahead of rank 0's, and the error of this, in nanoseconds. */
#ifndef TISIM_TIMELINE_H
#define TISIM_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds of the host's clock. */
uint64_t tisim_now(void);
/* After MPI_Init, on all ranks; `is_written`: on this one too. */
void tisim_begin_timeline(const char* directory, bool is_written);
void tisim_timeline_call(const char* function, uint64_t begin, uint64_t end);
/* Before MPI_Finalize, on all ranks. */
void tisim_end_timeline(void);
/* Without others: the program aborts. */
void tisim_close_timeline(void);

#endif
