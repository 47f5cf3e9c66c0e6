/* The begin and end of each call, and the clocks of the hosts. */
#include "timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool tisim_write_all(int file, const char* bytes, size_t size) {
  sigset_t signal, before, pending;
  sigemptyset(&signal);
  sigaddset(&signal, SIGXFSZ);
  sigpending(&pending);
  const bool was_pending = sigismember(&pending, SIGXFSZ) == 1;
  pthread_sigmask(SIG_BLOCK, &signal, &before);
  ssize_t wrote = 0;
  while (size > 0 && ((wrote = write(file, bytes, size)) > 0 || errno == EINTR)) {
    if (wrote < 0) continue;
    bytes += wrote;
    size -= (size_t)wrote;
  }
  const int reason = errno;
  int number = 0;
  sigpending(&pending);
  if (!was_pending && sigismember(&pending, SIGXFSZ) == 1) sigwait(&signal, &number);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = reason;
  return size == 0;
}

#define ROOM (1 << 16)
#define LONGEST_LINE 128
#define ROUND_TRIPS 32 /* the shortest one counts */
#define LONGEST_PATH 4096

static int file = -1;
static char buffer[ROOM];
static size_t used;
static MPI_Comm world = MPI_COMM_NULL; /* a duplicate */
static MPI_Comm host = MPI_COMM_NULL;  /* the ranks of this host, which share a clock */

static int64_t shift; /* of this host's clock, for tests */

uint64_t tisim_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)((int64_t)now.tv_sec * 1000000000 + (int64_t)now.tv_nsec + shift);
}

static void write_buffer(void) {
  if (file >= 0 && !tisim_write_all(file, buffer, used)) {
    fprintf(stderr, "tisim record: the timeline of a rank cannot be written: %s\n",
            strerror(errno));
    close(file);
    file = -1;
  }
  used = 0;
}

static char* room_for_line(void) {
  if (used + LONGEST_LINE > sizeof buffer) write_buffer();
  return buffer + used;
}

struct clock_offset {
  int64_t offset; /* by which this host's clock is ahead of rank 0's */
  int64_t error;
};

static void answer(int peer) {
  uint64_t now = 0;
  for (int i = 0; i < ROUND_TRIPS; ++i) {
    PMPI_Recv(&now, 1, MPI_UINT64_T, peer, 0, world, MPI_STATUS_IGNORE);
    now = tisim_now();
    PMPI_Send(&now, 1, MPI_UINT64_T, peer, 0, world);
  }
}

/* The other clock is read during a round trip: its middle is wrong by at most half of it. */
static struct clock_offset measure(int peer) {
  struct clock_offset best = {0, INT64_MAX};
  for (int i = 0; i < ROUND_TRIPS; ++i) {
    const uint64_t begin = tisim_now();
    uint64_t there = begin;
    PMPI_Send(&there, 1, MPI_UINT64_T, peer, 0, world);
    PMPI_Recv(&there, 1, MPI_UINT64_T, peer, 0, world, MPI_STATUS_IGNORE);
    const int64_t half = (int64_t)(tisim_now() - begin) / 2;
    if (half < best.error) {
      best.error = half;
      best.offset = (int64_t)(there - begin) - half;
    }
  }
  return best;
}

/* The first rank of each host measures with rank 0, one after another. */
static struct clock_offset clock_of_host(void) {
  struct clock_offset own = {0, 0};
  int rank = 0;
  int size = 0;
  int rank_on_host = 0;
  PMPI_Comm_rank(world, &rank);
  PMPI_Comm_size(world, &size);
  PMPI_Comm_rank(host, &rank_on_host);
  const int is_first = rank_on_host == 0;
  int* const are_first = rank == 0 ? calloc((size_t)size, sizeof *are_first) : NULL;
  PMPI_Gather(&is_first, 1, MPI_INT, are_first, 1, MPI_INT, 0, world);
  for (int peer = 1; are_first != NULL && peer < size; ++peer) {
    if (!are_first[peer]) continue;
    const struct clock_offset measured = measure(peer);
    PMPI_Send(&measured, 2, MPI_INT64_T, peer, 0, world);
  }
  if (rank != 0 && is_first) {
    answer(0);
    PMPI_Recv(&own, 2, MPI_INT64_T, 0, 0, world, MPI_STATUS_IGNORE);
  }
  PMPI_Bcast(&own, 2, MPI_INT64_T, 0, host);
  free(are_first);
  return own;
}

static void write_clock(void) {
  const struct clock_offset clock = clock_of_host();
  if (file < 0) return;
  used += (size_t)sprintf(room_for_line(), "# clock %" PRIu64 " %" PRId64 " %" PRId64 "\n",
                          tisim_now(), clock.offset, clock.error);
}

void tisim_begin_timeline(const char* directory, bool is_written) {
  int rank = 0;
  PMPI_Comm_dup(MPI_COMM_WORLD, &world);
  PMPI_Comm_rank(world, &rank);
  /* A test has only one host: then each rank counts as one, whose clock is ahead of the previous
   * rank's by this many nanoseconds. */
  const char* const ahead = getenv("TISIM_RECORD_EACH_RANK_A_HOST");
  if (ahead != NULL) shift = rank * (int64_t)strtoll(ahead, NULL, 10);
  if (ahead == NULL) {
    PMPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
  } else {
    PMPI_Comm_split(world, rank, 0, &host);
  }
  if (is_written) {
    char path[LONGEST_PATH];
    snprintf(path, sizeof path, "%s/rank-%d.times", directory, rank);
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) {
      fprintf(stderr, "tisim record: %s cannot be written: %s\n", path, strerror(errno));
    }
    used += (size_t)sprintf(room_for_line(), "begin,end,function\n");
  }
  write_clock();
  write_buffer();
}

void tisim_timeline_call(const char* function, uint64_t begin, uint64_t end) {
  if (file < 0) return;
  used += (size_t)sprintf(room_for_line(), "%" PRIu64 ",%" PRIu64 ",%.63s\n", begin, end, function);
}

void tisim_close_timeline(void) {
  if (file < 0) return;
  write_buffer();
  if (file >= 0) close(file);
  file = -1;
}

void tisim_end_timeline(void) {
  if (world == MPI_COMM_NULL) return;
  write_clock();
  tisim_close_timeline();
  PMPI_Comm_free(&host);
  PMPI_Comm_free(&world);
}
