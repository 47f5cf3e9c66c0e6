/* Heat on a grid of ranks, which exchange edges with their neighbours by collectives of a Cartesian
 * topology, and a graph topology in which each rank receives from the two preceding ones.
 *
 *   mpicc -O2 topology.c -o topology; mpirun -n 6 ./topology */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define EDGE 100
#define STEPS 5

static void check(int truth, const char* what) {
  if (truth) return;
  fprintf(stderr, "topology: %s is wrong\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  int rank, size, dimensions[2] = {0, 0}, place[2], neighbours[4];
  const int periodic[2] = {1, 0};
  double edges[4][EDGE], halos[4][EDGE];
  MPI_Comm grid, line;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, 2, dimensions);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dimensions, periodic, 0, &grid);
  MPI_Comm_rank(grid, &rank);
  MPI_Cart_coords(grid, rank, 2, place);
  for (int i = 0; i < 2; ++i) {
    MPI_Cart_shift(grid, i, 1, &neighbours[2 * i], &neighbours[2 * i + 1]);
  }
  for (int step = 0; step < STEPS; ++step) {
    for (int side = 0; side < 4; ++side) {
      for (int i = 0; i < EDGE; ++i) edges[side][i] = rank + step;
    }
    MPI_Neighbor_alltoall(edges, EDGE, MPI_DOUBLE, halos, EDGE, MPI_DOUBLE, grid);
    for (int side = 0; side < 4; ++side) {
      if (neighbours[side] == MPI_PROC_NULL) continue;
      check(halos[side][EDGE - 1] == neighbours[side] + step, "an edge");
    }
    /* Only the second dimension, while the rank computes. */
    const int counts[4] = {0, 0, EDGE / 2, EDGE / 2};
    const int starts[4] = {0, EDGE, 2 * EDGE, 3 * EDGE};
    MPI_Ineighbor_alltoallv(edges, counts, starts, MPI_DOUBLE, halos, counts, starts, MPI_DOUBLE,
                            grid, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  const int from[2] = {(rank + size - 1) % size, (rank + size - 2) % size};
  const int to[2] = {(rank + 1) % size, (rank + 2) % size};
  int heard[2];
  MPI_Dist_graph_create_adjacent(grid, 2, from, MPI_UNWEIGHTED, 2, to, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &line);
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, heard, 1, MPI_INT, line);
  check(heard[0] == from[0] && heard[1] == from[1], "what was heard");
  MPI_Comm_free(&line);
  MPI_Comm_free(&grid);
  MPI_Finalize();
  return 0;
}
