// Prints the messages that each collective call of Open MPI sends, one line for each:
// "OPERATION BYTES ROOT SOURCE DESTINATION SIZE", those of a rank in the order in which it sends.
//
// Rank 0 reads calls from standard input, "OPERATION BYTES ROOT" a line; BYTES are those of a block
// or vector, as the operation has it. A second file reports each message that the library sends, by
// defining a function in the place of the library's:
//   mpicc.openmpi -rdynamic -o messages messages.c openmpi.c
//   mpirun.openmpi --mca pml_monitoring_enable 1 ... ./messages MOST_BYTES
//   mpicc.mpich -rdynamic -o messages messages.c ucx.c -ldl
//   MPIR_CVAR_NOLOCAL=1 mpirun.mpich ... ./messages MOST_BYTES
#include "messages.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 1 << 20 };
static struct {
  int to;
  size_t bytes;
} sent[kMost];
static int count, recording;

void report_message(int to, size_t bytes) {
  if (!recording || count == kMost) return;
  sent[count].to = to;
  sent[count++].bytes = bytes;
}

static int ranks, me;

static void call(const char* operation, int k, int root, char* a, char* b, int* n, int* d) {
  const MPI_Comm w = MPI_COMM_WORLD;
  for (int i = 0; i < ranks; ++i) {
    n[i] = k;
    d[i] = i * k;
  }
  if (!strcmp(operation, "barrier")) MPI_Barrier(w);
  if (!strcmp(operation, "bcast")) MPI_Bcast(a, k, MPI_BYTE, root, w);
  if (!strcmp(operation, "reduce")) MPI_Reduce(a, b, k, MPI_BYTE, MPI_BOR, root, w);
  if (!strcmp(operation, "allreduce")) MPI_Allreduce(a, b, k, MPI_BYTE, MPI_BOR, w);
  if (!strcmp(operation, "gather")) MPI_Gather(a, k, MPI_BYTE, b, k, MPI_BYTE, root, w);
  if (!strcmp(operation, "gatherv")) MPI_Gatherv(a, k, MPI_BYTE, b, n, d, MPI_BYTE, root, w);
  if (!strcmp(operation, "scatter")) MPI_Scatter(a, k, MPI_BYTE, b, k, MPI_BYTE, root, w);
  if (!strcmp(operation, "scatterv")) MPI_Scatterv(a, n, d, MPI_BYTE, b, k, MPI_BYTE, root, w);
  if (!strcmp(operation, "allgather")) MPI_Allgather(a, k, MPI_BYTE, b, k, MPI_BYTE, w);
  if (!strcmp(operation, "allgatherv")) MPI_Allgatherv(a, k, MPI_BYTE, b, n, d, MPI_BYTE, w);
  if (!strcmp(operation, "alltoall")) MPI_Alltoall(a, k, MPI_BYTE, b, k, MPI_BYTE, w);
  if (!strcmp(operation, "alltoallv")) MPI_Alltoallv(a, n, d, MPI_BYTE, b, n, d, MPI_BYTE, w);
  if (!strcmp(operation, "reduce_scatter")) MPI_Reduce_scatter(a, b, n, MPI_BYTE, MPI_BOR, w);
  if (!strcmp(operation, "scan")) MPI_Scan(a, b, k, MPI_BYTE, MPI_BOR, w);
  if (!strcmp(operation, "exscan")) MPI_Exscan(a, b, k, MPI_BYTE, MPI_BOR, w);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  const size_t most = argc > 1 ? (size_t)atol(argv[1]) : 1 << 20;
  char *a = calloc((size_t)ranks, most), *b = calloc((size_t)ranks, most);
  int *n = malloc(sizeof(int) * (size_t)ranks), *d = malloc(sizeof(int) * (size_t)ranks);
  prepare_reports(ranks, me);
  for (;;) {
    struct {
      char operation[32];
      int bytes, root;
    } next = {"", 0, 0};
    if (me == 0 && scanf("%31s %d %d", next.operation, &next.bytes, &next.root) != 3)
      next.operation[0] = '\0';
    MPI_Bcast(&next, sizeof next, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (!next.operation[0]) break;
    count = 0;
    recording = 1;
    call(next.operation, next.bytes, next.root, a, b, n, d);
    recording = 0;
    if (me > 0) {
      MPI_Send(&count, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
      MPI_Send(sent, count * (int)sizeof sent[0], MPI_BYTE, 0, 2, MPI_COMM_WORLD);
      continue;
    }
    for (int from = 0; from < ranks; ++from) {
      if (from > 0) {
        MPI_Recv(&count, 1, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(sent, count * (int)sizeof sent[0], MPI_BYTE, from, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
      }
      for (int i = 0; i < count; ++i) {
        printf("%s %d %d %d %d %zu\n", next.operation, next.bytes, next.root, from, sent[i].to,
               sent[i].bytes);
      }
    }
  }
  MPI_Finalize();
  return 0;
}
