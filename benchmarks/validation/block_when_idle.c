/* Makes an idle rank of Open MPI wait for its sockets instead of spinning.
 *
 * Open MPI polls its sockets with poll or epoll_wait and a timeout of 0, and with
 * mpi_yield_when_idle calls sched_yield if nothing was ready. This library, preloaded, remembers
 * these sockets, and turns the yield into a wait for them, of at most a millisecond or two: many
 * ranks then share a processor as if they were on separate hosts. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>

/* Open MPI yields a few times before it has checked for work. */
enum { MAX_SOCKETS = 512, YIELDS_BEFORE = 4, MAX_WAIT = 2 /* ms */ };

static __thread struct pollfd watched[MAX_SOCKETS];
static __thread nfds_t watched_count;
static __thread int idle_yields;

static void* next_function(const char* name) { return dlsym(RTLD_NEXT, name); }

static void saw(int ready) {
  if (ready > 0) idle_yields = 0;
}

int poll(struct pollfd* sockets, nfds_t count, int timeout) {
  static int (*next)(struct pollfd*, nfds_t, int);
  if (next == NULL) next = (int (*)(struct pollfd*, nfds_t, int))next_function("poll");
  if (timeout == 0 && count <= MAX_SOCKETS) {
    memcpy(watched, sockets, count * sizeof *sockets);
    watched_count = count;
  }
  const int ready = next(sockets, count, timeout);
  if (timeout == 0) saw(ready);
  return ready;
}

int epoll_wait(int set, struct epoll_event* events, int most, int timeout) {
  static int (*next)(int, struct epoll_event*, int, int);
  if (next == NULL) next = (int (*)(int, struct epoll_event*, int, int))next_function("epoll_wait");
  if (timeout == 0) {
    watched[0] = (struct pollfd){.fd = set, .events = POLLIN};
    watched_count = 1;
  }
  const int ready = next(set, events, most, timeout);
  if (timeout == 0) saw(ready);
  return ready;
}

int sched_yield(void) {
  static int (*next)(struct pollfd*, nfds_t, int);
  if (next == NULL) {
    next = (int (*)(struct pollfd*, nfds_t, int))next_function("poll");
    prctl(PR_SET_TIMERSLACK, 1UL);
  }
  if (++idle_yields < YIELDS_BEFORE || watched_count == 0) return 0;
  idle_yields = 0;
  struct pollfd sockets[MAX_SOCKETS];
  memcpy(sockets, watched, watched_count * sizeof *sockets);
  next(sockets, watched_count, MAX_WAIT);
  return 0;
}
