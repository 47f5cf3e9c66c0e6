/* Counters beside that of the volumes: attributes of the computations of the thread that has called
 * MPI_Init. */
#ifndef TISIM_FURTHER_COUNTERS_H
#define TISIM_FURTHER_COUNTERS_H

#include <stdbool.h>

#include "sink.h"

/* `list` is NAME=time or NAME=TYPE:CONFIG*WEIGHT+..., of events of the kernel, separated by commas;
 * NULL: there are none. On the thread that is counted. False, after a message, if one of them does
 * not work. */
bool tisim_begin_further_counters(const char *list);
/* Makes them known to the sink. */
void tisim_name_further_counters(tisim_sink *sink);
/* Before a call, and before the program goes on. */
void tisim_take_further_counts(void);
void tisim_restart_further_counters(void);
/* Says what was counted of the computation that the sink gets next; NULL: it gets none. */
void tisim_write_further_counts(tisim_sink *sink);

#endif
