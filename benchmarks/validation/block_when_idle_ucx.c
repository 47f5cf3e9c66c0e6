/* Lets a rank of MPICH over UCX that has nothing to do wait for its sockets instead of spinning.
 *
 * A rank that waits calls UCX again and again, which looks at its sockets by epoll_wait with a
 * timeout of 0. When many such calls follow one another at once and find nothing, this library,
 * preloaded, makes the next one a wait of at most two milliseconds. A program that computes between
 * two tests does not wait.
 *
 * Closing a connection also asks its other side to answer (UCX 1.13 over TCP), which may already
 * wait for the launcher and read nothing any more: MPI_Finalize of MPICH 4.0 then never ends. All
 * messages have been received by then, so connections are left to the end of the process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>

enum { LOOKS_BEFORE = 20, LONGEST_WAIT = 2 /* ms */ };
static const double AT_ONCE = 20e-6; /* seconds from one look to the next, at most */

static double now(void) {
  struct timespec date;
  clock_gettime(CLOCK_MONOTONIC, &date);
  return (double)date.tv_sec + 1e-9 * (double)date.tv_nsec;
}

int epoll_wait(int set, struct epoll_event* events, int most, int timeout) {
  static int (*next)(int, struct epoll_event*, int, int);
  static __thread int looks;
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
    ready = next(set, events, most, LONGEST_WAIT);
  }
  last = now();
  return ready;
}

void* ucp_disconnect_nb(void* endpoint) {
  (void)endpoint;
  return NULL; /* it is closed */
}
