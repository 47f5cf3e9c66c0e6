/* A program that spawns its workers: it scatters work over an intercommunicator, gathers the
 * results, and merges with the workers into one communicator.
 *
 *   mpicc -O2 spawn.c -o spawn; mpirun -n 2 ./spawn     # with slots for two more processes */
#include <mpi.h>
#include <stdlib.h>

#define WORKERS 2
#define CELLS 1000

int main(int argc, char** argv) {
  int rank;
  MPI_Comm parent, workers, all;
  double cells[WORKERS * CELLS] = {0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) {
    const int root = rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, WORKERS, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &workers,
                   MPI_ERRCODES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Scatter(cells, CELLS, MPI_DOUBLE, NULL, 0, MPI_DOUBLE, root, workers);
    MPI_Gather(NULL, 0, MPI_DOUBLE, cells, CELLS, MPI_DOUBLE, root, workers);
    if (rank == 0 && cells[WORKERS * CELLS - 1] != WORKERS) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Intercomm_merge(workers, 0, &all);
    MPI_Comm_free(&workers);
  } else {
    MPI_Scatter(NULL, 0, MPI_DOUBLE, cells, CELLS, MPI_DOUBLE, 0, parent);
    for (int i = 0; i < CELLS; ++i) cells[i] = rank + 1;
    MPI_Gather(cells, CELLS, MPI_DOUBLE, NULL, 0, MPI_DOUBLE, 0, parent);
    MPI_Intercomm_merge(parent, 1, &all);
    MPI_Comm_free(&parent);
  }
  MPI_Barrier(all);
  MPI_Comm_free(&all);
  MPI_Finalize();
  return 0;
}
