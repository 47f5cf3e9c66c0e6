/* Two groups of ranks, models of the ocean and of the atmosphere, coupled by an intercommunicator:
 * all blocking and non-blocking collectives that MPI has between groups.
 *
 *   mpicc -O2 two_groups.c -o two_groups; mpirun -n 5 ./two_groups */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CELLS 1000 /* a rank */

static void check(int truth, const char* what) {
  if (truth) return;
  fprintf(stderr, "two_groups: %s is wrong\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  int world_rank, world_size, rank, size, remote;
  MPI_Comm own, between;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  if (world_size < 2) MPI_Abort(MPI_COMM_WORLD, 1);
  const int ocean = world_size / 2; /* so many ranks; the others are the air */
  const int is_air = world_rank >= ocean;
  MPI_Comm_split(MPI_COMM_WORLD, is_air, world_rank, &own);
  MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, is_air ? 0 : ocean, 1, &between);
  MPI_Comm_rank(between, &rank);
  MPI_Comm_size(between, &size);
  MPI_Comm_remote_size(between, &remote);
  /* Rank 0 of the ocean is the root of rooted collectives. */
  const int root = is_air ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  const int most = size > remote ? size : remote;
  double* const sent = calloc((size_t)most * CELLS, sizeof *sent);
  double* const received = calloc((size_t)(most + 1) * CELLS, sizeof *received);
  int* const counts = calloc((size_t)most, sizeof *counts);
  int* const own_counts = calloc((size_t)most, sizeof *own_counts);
  int* const places = calloc((size_t)most, sizeof *places);
  int* const bytes = calloc((size_t)most, sizeof *bytes);
  MPI_Datatype* const types = calloc((size_t)most, sizeof(MPI_Datatype));
  for (int i = 0; i < most; ++i) {
    counts[i] = 1 + i; /* rank i of a group has so many cells for a rank of the other */
    own_counts[i] = 1 + rank;
    places[i] = i * CELLS;
    bytes[i] = i * CELLS * (int)sizeof(double);
    types[i] = MPI_DOUBLE;
  }
  for (int i = 0; i < most * CELLS; ++i) sent[i] = world_rank;

  for (int step = 0; step < 3; ++step) {
    MPI_Barrier(between);
    MPI_Bcast(is_air ? received : sent, CELLS, MPI_DOUBLE, root, between);
    check(!is_air || received[1] == 0, "a broadcast");
    MPI_Scatter(sent, CELLS, MPI_DOUBLE, received, CELLS, MPI_DOUBLE, root, between);
    MPI_Gather(sent, CELLS, MPI_DOUBLE, received, CELLS, MPI_DOUBLE, root, between);
    check(root != MPI_ROOT || received[(remote - 1) * CELLS] == world_size - 1, "a gather");
    MPI_Scatterv(sent, counts, places, MPI_DOUBLE, received, 1 + rank, MPI_DOUBLE, root, between);
    MPI_Gatherv(sent, 1 + rank, MPI_DOUBLE, received, counts, places, MPI_DOUBLE, root, between);
    MPI_Reduce(sent, received, CELLS, MPI_DOUBLE, MPI_SUM, root, between);
    MPI_Allreduce(sent, received, 2, MPI_DOUBLE, MPI_MAX, between);
    check(received[0] == (is_air ? ocean : world_size) - 1, "an all-reduce");
    MPI_Allgather(sent, CELLS, MPI_DOUBLE, received, CELLS, MPI_DOUBLE, between);
    check(received[0] == (is_air ? 0 : ocean), "an all-gather");
    MPI_Allgatherv(sent, 1 + rank, MPI_DOUBLE, received, counts, places, MPI_DOUBLE, between);
    MPI_Alltoall(sent, CELLS, MPI_DOUBLE, received, CELLS, MPI_DOUBLE, between);
    MPI_Alltoallv(sent, own_counts, places, MPI_DOUBLE, received, counts, places, MPI_DOUBLE,
                  between);
    MPI_Alltoallw(sent, own_counts, bytes, types, received, counts, bytes, types, between);
    check(received[(remote - 1) * CELLS] == (is_air ? ocean : world_size) - 1, "an all-to-all");

    /* The same while the ranks compute, two at a time. */
    MPI_Request pair[2];
    MPI_Ibarrier(between, &pair[0]);
    MPI_Ibcast(is_air ? received : sent, CELLS, MPI_DOUBLE, root, between, &pair[1]);
    MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
    check(!is_air || received[1] == 0, "a broadcast that does not block");
    MPI_Iscatter(sent, CELLS, MPI_DOUBLE, received, CELLS, MPI_DOUBLE, root, between, &pair[0]);
    MPI_Wait(&pair[0], MPI_STATUS_IGNORE);
    MPI_Igatherv(sent, 1 + rank, MPI_DOUBLE, received, counts, places, MPI_DOUBLE, root, between,
                 &pair[0]);
    MPI_Wait(&pair[0], MPI_STATUS_IGNORE);
    check(root != MPI_ROOT || received[(remote - 1) * CELLS] == world_size - 1, "an igatherv");
    MPI_Iallreduce(sent, received, 2, MPI_DOUBLE, MPI_MAX, between, &pair[0]);
    MPI_Ialltoall(sent, CELLS, MPI_DOUBLE, received + CELLS, CELLS, MPI_DOUBLE, between, &pair[1]);
    MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
    check(received[0] == (is_air ? ocean : world_size) - 1, "an all-reduce that does not block");
  }
  /* Each group gets the sum of the other group, each rank one cell more than the previous one. The
   * counts of both groups have the same sum if scaled by the size of the other group. */
  for (int i = 0; i < size; ++i) counts[i] = remote;
  MPI_Reduce_scatter(sent, received, counts, MPI_DOUBLE, MPI_SUM, between);
  free(types);
  free(bytes);
  free(places);
  free(own_counts);
  free(counts);
  free(received);
  free(sent);
  MPI_Comm_free(&between);
  MPI_Comm_free(&own);
  MPI_Finalize();
  return 0;
}
