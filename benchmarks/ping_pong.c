/* One-byte messages back and forth between two ranks of one host, called at some call depth.
 * Prints the median and the minimum time of an MPI call, in nanoseconds. */
#define _POSIX_C_SOURCE 199309L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCHES 2000
#define ROUND_TRIPS 50 /* per batch: two calls each */

static int rank;
static char byte;

static void round_trips(void) {
  const int peer = 1 - rank;
  for (int i = 0; i < ROUND_TRIPS; ++i) {
    if (rank == 0) MPI_Send(&byte, 1, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
    MPI_Recv(&byte, 1, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(&byte, 1, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
  }
}

/* Not a tail call: the depth is real. */
static int __attribute__((noinline)) at_depth(int depth) {
  if (depth > 0) return at_depth(depth - 1) + 1;
  round_trips();
  return 0;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  static double times[BATCHES];
  const int depth = argc > 1 ? atoi(argv[1]) : 10;
  int sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < BATCHES; ++i) {
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    sum += at_depth(depth);
    clock_gettime(CLOCK_MONOTONIC, &end);
    times[i] = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
    times[i] /= 2 * ROUND_TRIPS;
  }
  MPI_Finalize();
  qsort(times, BATCHES, sizeof *times, ascending);
  if (rank == 0) printf("median %.1f least %.1f\n", times[BATCHES / 2], times[0]);
  return sum < 0;
}
