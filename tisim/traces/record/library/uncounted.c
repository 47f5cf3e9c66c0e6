/* How much of the computation is in code that does not count itself, of a program that does.
 *
 * A timer of the thread's processor time sends a signal, whose handler looks where the program is.
 * The shares go to a file beside the part of the rank: they differ from run to run, as the trace
 * does not. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "counting.h"
#include "state.h"

#define INTERVAL 10000000 /* nanoseconds of processor time */
#define FEWEST_SAMPLES 20 /* below that nothing is said */
#define MOST_PAGES 4096   /* a power of two */
#define MOST_LIBRARIES 64
#define PAGE_BITS 12

#if defined(__linux__) && defined(__x86_64__)

extern int tisim_is_counted(const void* address) __attribute__((weak));

/* Written by the handler, on one thread. */
static uint64_t samples;
static uint64_t outside;
static struct {
  uintptr_t number; /* 0: the place is free */
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
  const int number = SIGRTMAX - 2;
  struct sigaction action;
  if (sigaction(number, NULL, &action) != 0 || (action.sa_flags & SA_SIGINFO) != 0 ||
      action.sa_handler != SIG_DFL) {
    return; /* the program uses this signal */
  }
  memset(&action, 0, sizeof action);
  action.sa_sigaction = look;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  if (sigaction(number, &action, NULL) != 0) return;
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = number;
  event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
  if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0) return;
  const struct itimerspec interval = {{0, INTERVAL}, {0, INTERVAL}};
  is_running = timer_settime(timer, 0, &interval, NULL) == 0;
}

void tisim_end_uncounted(const char* directory, int rank) {
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
  char path[4096];
  snprintf(path, sizeof path, "%s/rank-%d.notes", directory, rank);
  FILE* const file = fopen(path, "w");
  if (file == NULL) return;
  fprintf(file, "samples %llu\n", (unsigned long long)samples);
  fprintf(file, "uncounted %llu\n", (unsigned long long)outside);
  for (size_t i = 0; i < count; ++i) {
    fprintf(file, "library %llu %s\n", (unsigned long long)libraries[i].samples, libraries[i].name);
  }
  fclose(file);
}

#else
void tisim_begin_uncounted(void) {}
void tisim_end_uncounted(const char* directory, int rank) {
  (void)directory;
  (void)rank;
}
#endif
