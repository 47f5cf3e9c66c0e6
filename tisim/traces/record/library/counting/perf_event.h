/* An event that the kernel counts for the calling thread: perf_event_open. */
#ifndef TISIM_PERF_EVENT_H
#define TISIM_PERF_EVENT_H

#include <stdbool.h>
#include <stdint.h>

struct tisim_perf_event {
  int file;                 /* -1: not open */
  const volatile void *page; /* by which it may be read without a system call; NULL: there is none */
  uint64_t last;            /* the last reading */
};

/* Of this thread in user mode. `type` and `config` are those of struct perf_event_attr. */
bool tisim_open_perf_event(struct tisim_perf_event *event, uint32_t type, uint64_t config);
/* The count so far. Where other users share the counter, it runs for a part of the time, and is
 * extrapolated. */
uint64_t tisim_read_perf_event(struct tisim_perf_event *event);

#endif
