/* One clock for all ranks: that of rank 0. */
#ifndef TISIM_CLOCK_H
#define TISIM_CLOCK_H

#include <stdint.h>

/* Tells this host from others. */
uint64_t host_number(void);
/* Compares the clocks of all ranks with that of rank 0. */
void align_clocks(void);
/* By how much the clocks may differ after that, in seconds; the largest of all ranks, on rank 0. */
double clock_error(void);

/* Seconds of rank 0's clock. */
double now(void);
/* Seconds of a processor that this rank has used. */
double processor_time(void);
/* Sleeps until then; it is not woken early. */
void sleep_until(double when);
/* Sleeps until all ranks have come here, and only looks now and then whether they have. */
void wait_for_all(void);
/* Lets all ranks go on at one instant: returns its date. `late`: by how much this rank missed it.
 */
double start_together(double* late);

#endif
