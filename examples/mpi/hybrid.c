/* MPI with OpenMP threads: the master thread of each rank communicates (MPI_THREAD_FUNNELED).
 *
 *     mpicc -O2 -fopenmp hybrid.c -o hybrid
 *     tisim record -o hybrid.tit -- mpirun -n 2 ./hybrid
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  enum { POINTS = 100000, STEPS = 5 };
  static double field[POINTS];
  int rank, provided;
  double all = 0.0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step < STEPS; ++step) {
    double sum = 0.0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < POINTS; ++i) {
      field[i] = 0.5 * field[i] + rank + i % 7;
      sum += field[i];
    }
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("sum %.6e\n", all);
  MPI_Finalize();
  return 0;
}
