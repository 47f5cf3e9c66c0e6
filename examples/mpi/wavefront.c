/* A wavefront solver: sweeps over a grid from one corner to the opposite one, as in LU.
 *
 *     mpicc -O2 wavefront.c -o wavefront
 *     tisim record -o wavefront.tit -- mpirun -n 4 ./wavefront 64 20
 *
 * The ranks form a two-dimensional grid. Each updates its block plane by plane: it needs the last
 * row of the rank above and the last column of the rank to its left, and passes on its own.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { NORTH_SOUTH, WEST_EAST };

static double* room(int count) {
  double* const values = calloc((size_t)count, sizeof *values);
  if (values == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return values;
}

/* Sweeps over one plane of n x n points; returns the change of the plane. */
static double sweep(double* plane, int n, const double* north, const double* west) {
  double change = 0.0;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      const double above = i > 0 ? plane[(i - 1) * n + j] : north[j];
      const double left = j > 0 ? plane[i * n + j - 1] : west[i];
      const double value = 0.25 * (above + left + 2.0 * plane[i * n + j]) + 1e-3;
      change += fabs(value - plane[i * n + j]);
      plane[i * n + j] = value;
    }
  }
  return change;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int n = argc > 1 ? atoi(argv[1]) : 64;
  const int iterations = argc > 2 ? atoi(argv[2]) : 20;
  const int planes = 8;
  int size, rank, west_rank, east_rank, north_rank, south_rank;
  int dims[2] = {0, 0};
  const int periods[2] = {0, 0};
  MPI_Comm grid;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Comm_rank(grid, &rank);
  MPI_Cart_shift(grid, 0, 1, &north_rank, &south_rank);
  MPI_Cart_shift(grid, 1, 1, &west_rank, &east_rank);

  double* const points = room(planes * n * n);
  double* const north = room(n);
  double* const west = room(n);
  double* const east = room(n);
  double total = 0.0;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    double change = 0.0;
    for (int k = 0; k < planes; ++k) {
      double* const plane = points + k * n * n;
      MPI_Recv(north, n, MPI_DOUBLE, north_rank, NORTH_SOUTH, grid, MPI_STATUS_IGNORE);
      MPI_Recv(west, n, MPI_DOUBLE, west_rank, WEST_EAST, grid, MPI_STATUS_IGNORE);
      change += sweep(plane, n, north, west);
      for (int i = 0; i < n; ++i) east[i] = plane[i * n + n - 1];
      MPI_Send(plane + (n - 1) * n, n, MPI_DOUBLE, south_rank, NORTH_SOUTH, grid);
      MPI_Send(east, n, MPI_DOUBLE, east_rank, WEST_EAST, grid);
    }
    MPI_Allreduce(&change, &total, 1, MPI_DOUBLE, MPI_SUM, grid);
  }
  if (rank == 0) printf("%d ranks, last change %.9e\n", size, total);
  free(points);
  free(north);
  free(west);
  free(east);
  MPI_Comm_free(&grid);
  MPI_Finalize();
  return 0;
}
