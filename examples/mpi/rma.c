/* The four kinds of one-sided communication in MPI: a halo exchange with fences, a pipeline with
 * groups of ranks, a task queue with a shared counter, and a histogram with locks. */
#include <mpi.h>
#include <stdlib.h>

#define CELLS 20000
#define HALO 1000
#define STEPS 5
#define TASKS 64
#define BINS 256

static double* field;
static int rank, ranks;

static void relax(int times) {
  for (int time = 0; time < times; time++)
    for (int i = 1; i < CELLS - 1; i++)
      field[i] = 0.5 * field[i] + 0.25 * (field[i - 1] + field[i + 1]);
}

/* Each rank puts the ends of its part into its neighbours' parts. */
static void exchange_halos(void) {
  MPI_Win window;
  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  MPI_Win_create(field, CELLS * sizeof *field, sizeof *field, MPI_INFO_NULL, MPI_COMM_WORLD,
                 &window);
  MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
  for (int step = 0; step < STEPS; step++) {
    relax(10);
    MPI_Win_fence(0, window);
    MPI_Put(field + HALO, HALO, MPI_DOUBLE, left, CELLS - HALO, HALO, MPI_DOUBLE, window);
    MPI_Put(field + CELLS - 2 * HALO, HALO, MPI_DOUBLE, right, 0, HALO, MPI_DOUBLE, window);
    MPI_Win_fence(step + 1 < STEPS ? 0 : MPI_MODE_NOSUCCEED, window);
  }
  MPI_Win_free(&window);
}

/* Each rank gets the result of the previous one. */
static void pass_on(void) {
  MPI_Win window;
  MPI_Group all, before, behind;
  MPI_Win_create(field, CELLS * sizeof *field, sizeof *field, MPI_INFO_NULL, MPI_COMM_WORLD,
                 &window);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  const int previous = rank - 1, next = rank + 1;
  if (rank > 0) {
    MPI_Group_incl(all, 1, &previous, &before);
    MPI_Win_start(before, 0, window);
    MPI_Get(field, HALO, MPI_DOUBLE, previous, HALO, HALO, MPI_DOUBLE, window);
    MPI_Win_complete(window);
    MPI_Group_free(&before);
  }
  relax(5);
  if (next < ranks) {
    MPI_Group_incl(all, 1, &next, &behind);
    MPI_Win_post(behind, 0, window);
    MPI_Win_wait(window);
    MPI_Group_free(&behind);
  }
  MPI_Group_free(&all);
  MPI_Win_free(&window);
}

/* Ranks take tasks from a counter of rank 0. The assignment depends on timing. */
static void take_tasks(void) {
  MPI_Win window;
  long *counter, one = 1, task;
  MPI_Win_allocate(sizeof *counter, sizeof *counter, MPI_INFO_NULL, MPI_COMM_WORLD, &counter,
                   &window);
  *counter = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < TASKS / ranks; i++) {
    MPI_Fetch_and_op(&one, &task, MPI_LONG, 0, 0, MPI_SUM, window);
    MPI_Win_flush(0, window);
    relax(1 + (int)(task % 4));
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

static void count(void) {
  MPI_Win window;
  long *bins, mine[BINS], all[BINS];
  MPI_Win_allocate(BINS * sizeof *bins, sizeof *bins, MPI_INFO_NULL, MPI_COMM_WORLD, &bins,
                   &window);
  for (int i = 0; i < BINS; i++) bins[i] = 0, mine[i] = i % (rank + 1);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int target = 0; target < ranks; target++) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);
    MPI_Accumulate(mine, BINS, MPI_LONG, target, 0, BINS, MPI_LONG, MPI_SUM, window);
    MPI_Win_unlock(target, window);
  }
  MPI_Request request;
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
  MPI_Rget(all, BINS, MPI_LONG, 0, 0, BINS, MPI_LONG, window, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_unlock(0, window);
  MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  field = calloc(CELLS, sizeof *field);
  exchange_halos();
  pass_on();
  take_tasks();
  count();
  free(field);
  MPI_Finalize();
  return 0;
}
