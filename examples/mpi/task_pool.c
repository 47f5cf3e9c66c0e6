/* A pool of tasks: rank 0 hands them out on request; the order depends on the machine.
 *
 *     mpicc -O2 task_pool.c -o task_pool
 *     tisim record -o task_pool.tit -- mpirun -n 4 ./task_pool
 */
#include <mpi.h>
#include <stdio.h>

enum { ASK, TASK };

static double work(int task) {
  double sum = 0.0;
  for (int i = 1; i < 20000 * (1 + task % 4); ++i) sum += 1.0 / ((double)i * i);
  return sum;
}

static double hand_out(int tasks, int workers) {
  const int over = -1;
  double total = 0.0;
  for (int next = 0; workers > 0; ++next) {
    double result;
    MPI_Status status;
    MPI_Recv(&result, 1, MPI_DOUBLE, MPI_ANY_SOURCE, ASK, MPI_COMM_WORLD, &status);
    total += result;
    const int* const task = next < tasks ? &next : &over;
    if (next >= tasks) --workers;
    MPI_Send(task, 1, MPI_INT, status.MPI_SOURCE, TASK, MPI_COMM_WORLD);
  }
  return total;
}

static void ask_for_work(void) {
  double result = 0.0;
  for (int task = 0; task >= 0;) {
    MPI_Request request;
    int arrived = 0;
    MPI_Send(&result, 1, MPI_DOUBLE, 0, ASK, MPI_COMM_WORLD);
    MPI_Irecv(&task, 1, MPI_INT, 0, TASK, MPI_COMM_WORLD, &request);
    while (!arrived) MPI_Test(&request, &arrived, MPI_STATUS_IGNORE);
    result = task < 0 ? 0.0 : work(task);
  }
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) {
    const double total = hand_out(40, size - 1);
    printf("%d ranks, total %.6f\n", size, total);
  } else {
    ask_for_work();
  }
  MPI_Finalize();
  return 0;
}
