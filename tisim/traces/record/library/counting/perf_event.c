/* Opening and reading the events of the kernel. */
#include "perf_event.h"

#include <stddef.h>

#ifdef __linux__
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user_page.h"

#ifdef __x86_64__
static uint64_t read_counter(uint32_t number) {
  uint32_t low, high;
  __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(number));
  return (uint64_t)high << 32 | low;
}
#endif

bool tisim_open_perf_event(struct tisim_perf_event *event, uint32_t type, uint64_t config) {
  struct perf_event_attr asked;
  memset(&asked, 0, sizeof asked);
  asked.size = sizeof asked;
  asked.type = type;
  asked.config = config;
  asked.exclude_kernel = 1;
  asked.exclude_hv = 1;
  asked.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  event->file = (int)syscall(SYS_perf_event_open, &asked, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  event->page = NULL;
  event->last = 0;
  if (event->file < 0) return false;
  const size_t size = (size_t)sysconf(_SC_PAGESIZE);
  void *const page = mmap(NULL, size, PROT_READ, MAP_SHARED, event->file, 0);
  if (page != MAP_FAILED) event->page = page;
  return true;
}

uint64_t tisim_read_perf_event(struct tisim_perf_event *event) {
  struct {
    uint64_t value;
    uint64_t enabled;
    uint64_t running;
  } now;
#ifdef __x86_64__
  uint64_t count;
  if (event->page != NULL && tisim_read_user_page(event->page, read_counter, &count)) {
    return event->last = count;
  }
#endif
  if (event->file < 0) return event->last;
  if (read(event->file, &now, sizeof now) != (ssize_t)sizeof now) return event->last;
  if (now.running == 0) return event->last;
  if (now.running == now.enabled) return event->last = now.value;
  const double scaled = (double)now.value * ((double)now.enabled / (double)now.running);
  if ((uint64_t)scaled > event->last) event->last = (uint64_t)scaled;
  return event->last;
}
#else
bool tisim_open_perf_event(struct tisim_perf_event *event, uint32_t type, uint64_t config) {
  (void)type;
  (void)config;
  event->file = -1;
  return false;
}
uint64_t tisim_read_perf_event(struct tisim_perf_event *event) { return event->last; }
#endif
