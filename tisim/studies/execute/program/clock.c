#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "execute.h"

enum { ROUNDS = 50, TAG = 1 };

static double offset; /* this clock minus that of rank 0 */
static double error;  /* of the offset */

static double own_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

double processor_time(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

double now(void) { return own_now() - offset; }

void sleep_until(double when) {
  const double own = when + offset;
  struct timespec time;
  time.tv_sec = (time_t)own;
  time.tv_nsec = (long)((own - (double)time.tv_sec) * 1e9);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR) {
  }
}

static uint64_t hash(uint64_t seed, const char* text) {
  for (; *text != '\0'; text++) seed = (seed ^ (unsigned char)*text) * UINT64_C(1099511628211);
  return seed;
}

uint64_t host_number(void) {
  char text[256] = "";
  FILE* const file = fopen("/proc/sys/kernel/random/boot_id", "r");
  if (file != NULL) {
    if (fgets(text, sizeof text, file) == NULL) text[0] = '\0';
    fclose(file);
  }
  if (text[0] == '\0') gethostname(text, sizeof text - 1);
  return hash(UINT64_C(14695981039346656037), text);
}

/* Rank 0 answers with its time; the shortest round is the most precise. */
static void compare_with(int rank) {
  double shortest = 1e9;
  for (int round = 0; round < ROUNDS; round++) {
    double theirs = 0;
    if (program.rank == 0) {
      PMPI_Recv(&theirs, 1, MPI_DOUBLE, rank, TAG, program.control, MPI_STATUS_IGNORE);
      theirs = own_now();
      PMPI_Send(&theirs, 1, MPI_DOUBLE, rank, TAG, program.control);
    } else {
      const double begin = own_now();
      PMPI_Send(&theirs, 1, MPI_DOUBLE, 0, TAG, program.control);
      PMPI_Recv(&theirs, 1, MPI_DOUBLE, 0, TAG, program.control, MPI_STATUS_IGNORE);
      const double end = own_now();
      if (end - begin < shortest) {
        shortest = end - begin;
        offset = (begin + end) / 2 - theirs;
        error = shortest / 2;
      }
    }
  }
}

void align_clocks(void) {
  uint64_t host = host_number();
  const uint64_t own = host;
  PMPI_Bcast(&host, sizeof host, MPI_BYTE, 0, program.control);
  for (int rank = 1; rank < program.ranks; rank++) {
    int differs = rank == program.rank && own != host;
    PMPI_Bcast(&differs, 1, MPI_INT, rank, program.control);
    if (differs && (program.rank == 0 || program.rank == rank)) compare_with(rank);
  }
}

double clock_error(void) {
  double largest = 0;
  PMPI_Reduce(&error, &largest, 1, MPI_DOUBLE, MPI_MAX, 0, program.control);
  return largest;
}

void wait_for_all(void) {
  MPI_Request request;
  int done = 0;
  double pause = 20e-6;
  PMPI_Ibarrier(program.control, &request);
  for (;;) {
    PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done) return;
    sleep_until(now() + pause);
    if (pause < 1e-3) pause *= 1.5;
  }
}

double start_together(double* late) {
  double barrier = now();
  wait_for_all();
  PMPI_Barrier(program.control);
  barrier = now() - barrier;
  /* Late enough for the message with the date to arrive. */
  double date = now() + 0.02 + 2 * (barrier < 1 ? barrier : 1);
  PMPI_Bcast(&date, 1, MPI_DOUBLE, 0, program.control);
  const double told = now();
  if (told < date) sleep_until(date);
  *late = now() - date;
  return date;
}
