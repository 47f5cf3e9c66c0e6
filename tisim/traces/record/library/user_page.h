/* Reads a processor counter without a system call, through the page mapped by the kernel. */
#ifndef TISIM_USER_PAGE_H
#define TISIM_USER_PAGE_H

#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* `read_counter` reads a processor counter by number. Returns false if a system call is necessary:
 * the kernel forbids direct reads, the event is not currently on a processor counter, or it has
 * counted only part of the time. The kernel changes `lock` whenever it changes the page. */
static inline bool tisim_read_user_page(const volatile struct perf_event_mmap_page* page,
                                        uint64_t (*read_counter)(uint32_t), uint64_t* count) {
  uint32_t before;
  do {
    before = page->lock;
    atomic_signal_fence(memory_order_seq_cst);
    const uint32_t index = page->index;
    const unsigned width = page->pmc_width;
    if (!page->cap_user_rdpmc || index == 0 || width == 0 || width > 64) return false;
    if (page->time_running != page->time_enabled) return false;
    /* The counter has `width` bits, with the sign in the highest one. */
    const uint64_t highest = UINT64_C(1) << (width - 1);
    const uint64_t bits = read_counter(index - 1) & (highest | (highest - 1));
    *count = (uint64_t)page->offset + ((bits ^ highest) - highest);
    atomic_signal_fence(memory_order_seq_cst);
  } while (page->lock != before);
  return true;
}

#endif
