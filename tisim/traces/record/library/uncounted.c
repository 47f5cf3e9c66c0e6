/* The share of computation in code that does not count itself, for a program that does: a timer of
 * the thread's processor time sends a signal, whose handler examines the interrupted address. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "counting.h"
#include "places.h"
#include "state.h"

#define INTERVAL 10000000 /* nanoseconds of processor time */
#define FEWEST_SAMPLES 20 /* with fewer, nothing is reported */
#define MOST_PAGES 4096   /* a power of two */
#define MOST_LIBRARIES 64
#define PAGE_BITS 12

#ifdef __x86_64__

extern int tisim_is_counted(const void* address) __attribute__((weak));

/* Written by the handler, on one thread. */
static uint64_t samples;
static uint64_t outside;
static struct {
  uintptr_t number; /* 0: free */
  uint64_t samples;
} pages[MOST_PAGES];
static timer_t timer;
static bool is_running;

static void look(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)info;
  const uintptr_t at = (uintptr_t)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
  if (tisim_is_in_call()) return;
  ++samples;
  if (tisim_is_counted((const void*)at)) return;
  ++outside;
  size_t place = (at >> PAGE_BITS) & (MOST_PAGES - 1);
  for (int tries = 0; tries < 8; ++tries, place = (place + 1) & (MOST_PAGES - 1)) {
    if (pages[place].number != 0 && pages[place].number != at >> PAGE_BITS) continue;
    pages[place].number = at >> PAGE_BITS;
    ++pages[place].samples;
    return;
  }
}

void tisim_begin_uncounted(void) {
  const int number = tisim_take_signal(SIGRTMAX - 2, 1, look);
  is_running = number != 0 && tisim_start_timer(&timer, number, INTERVAL);
}

void tisim_end_uncounted(FILE* notes) {
  struct {
    const char* name;
    uint64_t samples;
  } libraries[MOST_LIBRARIES];
  size_t count = 0;
  if (!is_running) return;
  is_running = false;
  timer_delete(timer);
  if (samples < FEWEST_SAMPLES) return;
  for (size_t i = 0; i < MOST_PAGES; ++i) {
    Dl_info info;
    if (pages[i].number == 0) continue;
    if (dladdr((void*)(pages[i].number << PAGE_BITS), &info) == 0) info.dli_fname = "other code";
    size_t place = 0;
    while (place < count && strcmp(libraries[place].name, info.dli_fname) != 0) ++place;
    if (place == MOST_LIBRARIES) continue;
    if (place == count) {
      libraries[place].name = info.dli_fname;
      libraries[place].samples = 0;
      ++count;
    }
    libraries[place].samples += pages[i].samples;
  }
  fprintf(notes, "samples %llu\n", (unsigned long long)samples);
  fprintf(notes, "uncounted %llu\n", (unsigned long long)outside);
  for (size_t i = 0; i < count; ++i) {
    fprintf(notes, "library %llu %s\n", (unsigned long long)libraries[i].samples,
            libraries[i].name);
  }
}

#else
void tisim_begin_uncounted(void) {}
void tisim_end_uncounted(FILE* notes) { (void)notes; }
#endif
