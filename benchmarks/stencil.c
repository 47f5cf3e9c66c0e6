/* A halo exchange on a grid of 2 or 3 dimensions, with derived types, statuses and an MPI_Info:
 * its recording by `tisim record --arguments all` has constant size (docs/seeds.md).
 *
 * stencil DIMENSIONS STEPS */
#include <mpi.h>
#include <stdlib.h>

#define N 8

static double field[N][N][N];
static double halo[6][N][N];

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int dimensions = atoi(argv[1]);
  const int steps = atoi(argv[2]);
  if (dimensions < 1 || dimensions > 3) return 2;
  int rank;
  int size;
  int dims[3] = {0};
  int coords[3];
  int below[3];
  int above[3];
  const int periods[3] = {1};
  MPI_Comm grid;
  MPI_Info info;
  MPI_Datatype faces[3];
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, dimensions, dims);
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, periods, 0, &grid);
  MPI_Comm_rank(grid, &rank);
  MPI_Cart_coords(grid, rank, dimensions, coords);
  MPI_Info_create(&info);
  MPI_Info_set(info, "kind", "stencil");
  MPI_Comm_set_info(grid, info);
  MPI_Info_free(&info);
  for (int d = 0; d < dimensions; ++d) MPI_Cart_shift(grid, d, 1, &below[d], &above[d]);
  MPI_Type_vector(N, N, N * N, MPI_DOUBLE, &faces[0]);
  MPI_Type_vector(N * N, 1, N, MPI_DOUBLE, &faces[1]);
  MPI_Type_contiguous(N * N, MPI_DOUBLE, &faces[2]);
  for (int d = 0; d < 3; ++d) MPI_Type_commit(&faces[d]);
  for (int step = 0; step < steps; ++step) {
    MPI_Request requests[12];
    MPI_Status statuses[12];
    int count = 0;
    int received = 0;
    double sum = 1;
    for (int d = 0; d < dimensions; ++d) {
      MPI_Irecv(halo[2 * d], N * N, MPI_DOUBLE, below[d], d, grid, &requests[count++]);
      MPI_Irecv(halo[2 * d + 1], N * N, MPI_DOUBLE, above[d], d, grid, &requests[count++]);
    }
    for (int d = 0; d < dimensions; ++d) {
      MPI_Isend(field, 1, faces[d], above[d], d, grid, &requests[count++]);
      MPI_Isend(field, 1, faces[d], below[d], d, grid, &requests[count++]);
    }
    MPI_Waitall(count, requests, statuses);
    MPI_Get_count(&statuses[0], MPI_DOUBLE, &received);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, grid);
    if (step % 10 == 0) MPI_Wtime();
  }
  for (int d = 0; d < 3; ++d) MPI_Type_free(&faces[d]);
  MPI_Comm_free(&grid);
  MPI_Finalize();
  return 0;
}
