/* Makes an idle rank of MPICH over UCX wait for its sockets instead of spinning.
 *
 * A waiting rank calls UCX repeatedly, which polls its sockets by epoll_wait with a timeout of 0.
 * When many such calls follow each other immediately and find nothing, this library, preloaded,
 * turns the next one into a wait of at most two milliseconds. A program that computes between two
 * tests does not wait.
 *
 * From its first wait on, a rank has precedence over processes of ordinary priority, like those of
 * Open MPI. Before that, in MPI_Init, it spins, and other ranks would never begin. UCX's threads,
 * which hold locks that ranks spin on, have precedence over the ranks. Time slices (SCHED_RR)
 * preempt spinning ranks in any case.
 *
 * Closing a connection also asks its other side to answer (UCX 1.13 over TCP), which may already
 * wait for the launcher and no longer read: MPI_Finalize of MPICH 4.0 then never ends. All messages
 * have been received by then, so connections are left to the end of the process. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { LOOKS_BEFORE = 20, MAX_WAIT = 2 /* ms */ };
enum { RANK_PRIORITY = 10, THREAD_PRIORITY = 20 };
static const double AT_ONCE = 20e-6; /* maximum seconds between two polls */

static double now(void) {
  struct timespec date;
  clock_gettime(CLOCK_MONOTONIC, &date);
  return (double)date.tv_sec + 1e-9 * (double)date.tv_nsec;
}

static void go_first(void) {
  DIR* threads = opendir("/proc/self/task");
  struct dirent* one;
  while (threads != NULL && (one = readdir(threads)) != NULL) {
    int thread = atoi(one->d_name);
    struct sched_param wanted = {thread == gettid() ? RANK_PRIORITY : THREAD_PRIORITY};
    if (thread > 0) sched_setscheduler(thread, SCHED_RR, &wanted);
  }
  if (threads != NULL) closedir(threads);
}

int epoll_wait(int set, struct epoll_event* events, int most, int timeout) {
  static int (*next)(int, struct epoll_event*, int, int);
  static __thread int looks, has_waited;
  static __thread double last;
  if (next == NULL) {
    next = (int (*)(int, struct epoll_event*, int, int))dlsym(RTLD_NEXT, "epoll_wait");
    prctl(PR_SET_TIMERSLACK, 1UL);
  }
  if (timeout != 0) return next(set, events, most, timeout);
  int ready = next(set, events, most, 0);
  looks = ready == 0 && now() - last < AT_ONCE ? looks + 1 : 0;
  if (looks > LOOKS_BEFORE) {
    looks = 0;
    if (!has_waited) go_first();
    has_waited = 1;
    ready = next(set, events, most, MAX_WAIT);
  }
  last = now();
  return ready;
}

void* ucp_disconnect_nb(void* endpoint) {
  (void)endpoint;
  return NULL; /* it is closed */
}
