/* Memory bandwidth shared by the cores of a node, for `tisim calibrate host`.  BSD-3-Clause.

     mpicc -O2 -o host host.c
     mpirun -n 8 ./host > scan.csv        (a rank per core, all on one node)

   Ranks join in one after the other; the others sleep.  Each active rank adds two arrays into a
   third (the triad of STREAM), and computes on numbers in registers.  Optional argument: doubles
   per array (4194304; three arrays must be far larger than the caches). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { REPETITIONS = 15, STEPS_ONE_BY_ONE = 8, CHAINS = 8, ROUNDS = 1 << 21 };

static void sleep_until_all_are_here(void) {
  const struct timespec millisecond = {0, 1000000};
  MPI_Request request;
  int done = 0;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done) nanosleep(&millisecond, NULL);
}

static void triad(double* to, const double* a, const double* b, long length) {
  long i;
  for (i = 0; i < length; i++) to[i] = a[i] + 3.0 * b[i];
}

/* Enough independent chains to keep a core busy; the sum prevents dead-code elimination. */
static double arithmetic(void) {
  double chains[CHAINS], sum = 0;
  int i, round;
  for (i = 0; i < CHAINS; i++) chains[i] = 1.0 + i;
  for (round = 0; round < ROUNDS; round++)
    for (i = 0; i < CHAINS; i++) chains[i] = chains[i] * 0.999999 + 1e-6;
  for (i = 0; i < CHAINS; i++) sum += chains[i];
  return sum;
}

int main(int argc, char** argv) {
  long length = argc > 1 ? strtol(argv[1], NULL, 10) : 1L << 22, i;
  double *to, *a, *b, kept = 0;
  int rank, ranks, count, repetition, kind;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  to = malloc(sizeof *to * (size_t)length);
  a = malloc(sizeof *a * (size_t)length);
  b = malloc(sizeof *b * (size_t)length);
  if (length < 1 || !to || !a || !b) {
    fprintf(stderr, "host: no memory for three arrays of %ld doubles per rank\n", length);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  for (i = 0; i < length; i++) to[i] = a[i] = b[i] = 1.0; /* first touch by the using rank */
  if (rank == 0) printf("what,ranks,amount,seconds\n");
  for (count = 1; count <= ranks;) {
    MPI_Comm active;
    MPI_Comm_split(MPI_COMM_WORLD, rank < count ? 0 : MPI_UNDEFINED, rank, &active);
    for (repetition = 0; rank < count && repetition < REPETITIONS; repetition++)
      for (kind = 0; kind < 2; kind++) {
        double start, own, longest;
        MPI_Barrier(active);
        start = MPI_Wtime();
        if (kind == 0)
          triad(to, a, b, length);
        else
          kept += arithmetic();
        own = MPI_Wtime() - start;
        MPI_Reduce(&own, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, active);
        if (rank == 0)
          printf("%s,%d,%.9g,%.9g\n", kind == 0 ? "triad" : "arithmetic", count,
                 kind == 0 ? 24.0 * (double)length : 2.0 * CHAINS * ROUNDS, longest);
      }
    if (active != MPI_COMM_NULL) MPI_Comm_free(&active);
    sleep_until_all_are_here();
    if (count == ranks) break;
    count = count < STEPS_ONE_BY_ONE ? count + 1 : 2 * count;
    if (count > ranks) count = ranks;
  }
  if (rank == 0) printf("# end %g\n", kept + to[length / 2]);
  fflush(stdout);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
