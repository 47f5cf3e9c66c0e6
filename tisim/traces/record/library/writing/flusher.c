#include "flusher.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#define SECONDS_PER_FLUSH 1
#define SECONDS_TO_END 2 /* at most, from a signal until the process ends */

static const int ending_signals[] = {SIGTERM, SIGINT, SIGHUP};

static void (*flush)(void *);
static void *argument;
static pthread_mutex_t *lock;
static pthread_t thread;
static bool has_thread;
static pid_t process; /* a process that it has forked has no flusher */
static sem_t wake;
static volatile sig_atomic_t is_over;
static volatile sig_atomic_t ended_by; /* a signal; 0: none */

static struct timespec after(time_t seconds) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_sec += seconds;
  return time;
}

static void end_by(int number) {
  signal(number, SIG_DFL);
  kill(getpid(), number);
}

static void *run(void *unused) {
  (void)unused;
  while (!is_over) {
    const struct timespec next = after(SECONDS_PER_FLUSH);
    while (sem_timedwait(&wake, &next) != 0 && errno == EINTR) continue;
    if (is_over) break;
    /* The thread that the signal has interrupted may hold the lock. */
    const struct timespec latest = after(SECONDS_PER_FLUSH);
    if (pthread_mutex_timedlock(lock, &latest) == 0) {
      if (!is_over) flush(argument);
      pthread_mutex_unlock(lock);
    }
    if (ended_by != 0) end_by(ended_by);
  }
  return NULL;
}

/* The program does not go on while the flusher writes, and then ends the process. */
static void on_signal(int number) {
  if (getpid() == process && !is_over) {
    ended_by = number;
    sem_post(&wake);
    const struct timespec a_while = {SECONDS_TO_END, 0};
    nanosleep(&a_while, NULL);
  }
  end_by(number);
}

static void handle_ending_signals(void) {
  for (size_t i = 0; i < sizeof ending_signals / sizeof *ending_signals; ++i) {
    struct sigaction action;
    if (sigaction(ending_signals[i], NULL, &action) != 0) continue;
    if ((action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = on_signal;
    action.sa_flags = 0;
    sigfillset(&action.sa_mask);
    sigaction(ending_signals[i], &action, NULL);
  }
}

void tisim_start_flusher(void (*function)(void *), void *its_argument, pthread_mutex_t *its_lock) {
  sigset_t all, before;
  flush = function;
  argument = its_argument;
  lock = its_lock;
  process = getpid();
  sem_init(&wake, 0, 0);
  /* The program's signals are for its own threads. */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  has_thread = pthread_create(&thread, NULL, run, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (has_thread) handle_ending_signals();
}

void tisim_stop_flusher(void) {
  if (!has_thread) return;
  is_over = true;
  sem_post(&wake);
  pthread_join(thread, NULL);
  has_thread = false;
}
