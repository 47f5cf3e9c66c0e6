/* Times of point-to-point messages, for `tisim calibrate`.  BSD-3-Clause.

   Compile and run it on two hosts, half of the ranks on each; the first half is on one host:

     mpicc -O2 -o benchmark benchmark.c -lm
     mpirun -n 2 --host hostA,hostB ./benchmark > measured.csv
     mpirun -n 8 --host hostA:4,hostB:4 ./benchmark > measured.csv    (up to 4 pairs at once)

   Optional arguments: largest size in bytes (4194304), number of sizes (100), repetitions (10).
   Then:

     tisim calibrate measured.csv --bandwidth 125MBps --latency 15us --links 2 -o platform.xml

   Sizes are drawn at random, evenly on a logarithmic scale, and measured in random order, so that
   whatever disturbs the machine for a while disturbs all sizes alike.  Every time is printed, none
   is averaged. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DATA, CONTROL };
enum { WARM_UP = 20, TRANSFER_SIZES = 8, TRANSFER_REPETITIONS = 5 };

static int rank, ranks, partner;
static char *out, *in;
static char host[MPI_MAX_PROCESSOR_NAME], peer[MPI_MAX_PROCESSOR_NAME];

static void print_row(const char *operation, long bytes, int pairs, int directions, double seconds)
{
  printf("%s,%ld,%d,%d,%.9g,%s,%s\n", operation, bytes, pairs, directions, seconds, host, peer);
}

static void send_number(double number)
{
  MPI_Send(&number, 1, MPI_DOUBLE, partner, CONTROL, MPI_COMM_WORLD);
}

static double receive_number(void)
{
  double number;
  MPI_Recv(&number, 1, MPI_DOUBLE, partner, CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return number;
}

static void send_data(int bytes)
{
  MPI_Send(out, bytes, MPI_BYTE, partner, DATA, MPI_COMM_WORLD);
}

static void receive_data(int bytes)
{
  MPI_Recv(in, bytes, MPI_BYTE, partner, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The rank that times and prints: ping, ping-pong, MPI_Isend, a message that is received late. */
static void measure(int bytes, int print)
{
  MPI_Request request;
  double start = MPI_Wtime(), sent, received, round_trip;
  send_data(bytes);
  sent = MPI_Wtime() - start;
  receive_data(bytes);
  round_trip = MPI_Wtime() - start;
  if (print) {
    print_row("send", bytes, 1, 1, sent);
    print_row("pingpong", bytes, 1, 1, round_trip);
  }

  receive_number(); /* the partner is about to receive */
  start = MPI_Wtime();
  MPI_Isend(out, bytes, MPI_BYTE, partner, DATA, MPI_COMM_WORLD, &request);
  sent = MPI_Wtime() - start;
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (print)
    print_row("isend", bytes, 1, 1, sent);

  send_number(2 * round_trip); /* by then the next message has arrived, if it may */
  start = MPI_Wtime();
  send_data(bytes);
  sent = MPI_Wtime() - start;
  received = receive_number();
  if (print) {
    print_row("late_send", bytes, 1, 1, sent);
    print_row("recv", bytes, 1, 1, received);
  }
}

static void answer(int bytes)
{
  double start, late;
  receive_data(bytes);
  send_data(bytes);

  send_number(0);
  receive_data(bytes);

  late = receive_number();
  for (start = MPI_Wtime(); MPI_Wtime() - start < late;)
    ;
  start = MPI_Wtime();
  receive_data(bytes);
  send_number(MPI_Wtime() - start);
}

/* Pairs 0 to pairs - 1 at once, in one direction or in both; until the last message is there. */
static void transfer(int bytes, int pairs, int directions)
{
  int pair = rank % (ranks / 2), first = rank < ranks / 2, count = 0;
  MPI_Request requests[2];
  double start, own, longest;
  MPI_Barrier(MPI_COMM_WORLD);
  start = MPI_Wtime();
  if (pair < pairs && (directions == 2 || !first))
    MPI_Irecv(in, bytes, MPI_BYTE, partner, DATA, MPI_COMM_WORLD, &requests[count++]);
  if (pair < pairs && (directions == 2 || first))
    MPI_Isend(out, bytes, MPI_BYTE, partner, DATA, MPI_COMM_WORLD, &requests[count++]);
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  own = MPI_Wtime() - start;
  MPI_Reduce(&own, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0)
    print_row("transfer", bytes, pairs, directions, longest);
}

static double uniform(void)
{
  return (rand() + 0.5) / (RAND_MAX + 1.0);
}

static int log_uniform(double smallest, double largest)
{
  return (int)(smallest * exp(uniform() * log(largest / smallest)) + 0.5);
}

static int argument(int argc, char **argv, int place, int otherwise, int most)
{
  long value = argc > place ? strtol(argv[place], NULL, 10) : otherwise;
  if (value < 1 || value > most) {
    if (rank == 0)
      fprintf(stderr, "benchmark: argument %d must be from 1 to %d\n", place, most);
    MPI_Finalize();
    exit(EXIT_FAILURE);
  }
  return (int)value;
}

int main(int argc, char **argv)
{
  int i, length, count, largest, repetitions, *sizes;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks % 2) {
    if (rank == 0)
      fprintf(stderr, "benchmark: start an even number of ranks, half of them on each host\n");
    MPI_Finalize();
    return EXIT_FAILURE;
  }
  largest = argument(argc, argv, 1, 1 << 22, 1 << 30);
  count = argument(argc, argv, 2, 100, 10000);
  repetitions = argument(argc, argv, 3, 10, 10000);
  partner = (rank + ranks / 2) % ranks;
  MPI_Get_processor_name(host, &length);
  MPI_Sendrecv(host, sizeof host, MPI_CHAR, partner, CONTROL, peer, sizeof peer, MPI_CHAR, partner,
               CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  out = malloc(largest);
  in = malloc(largest);
  sizes = malloc(sizeof *sizes * count * repetitions);
  if (!out || !in || !sizes) {
    fprintf(stderr, "benchmark: no memory for messages of %d bytes\n", largest);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  memset(out, 1, largest);
  memset(in, 0, largest);

  srand(1); /* the same sizes in the same order on every rank */
  for (i = 0; i < count * repetitions; i++)
    sizes[i] = i < count ? log_uniform(1, largest) : sizes[i - count];
  for (i = count * repetitions - 1; i > 0; i--) {
    int other = (int)(uniform() * (i + 1)), swapped = sizes[i];
    sizes[i] = sizes[other];
    sizes[other] = swapped;
  }

  if (rank == 0)
    printf("operation,bytes,pairs,directions,seconds,host,peer\n");
  for (i = -WARM_UP; i < count * repetitions; i++) {
    int bytes = i < 0 ? 1 : sizes[i];
    if (rank == 0)
      measure(bytes, i >= 0);
    else if (rank == ranks / 2)
      answer(bytes);
  }
  for (i = 0; i < TRANSFER_SIZES; i++) {
    int bytes = log_uniform(largest > 10 ? largest / 10.0 : 1, largest), pairs, repetition;
    for (repetition = 0; repetition < TRANSFER_REPETITIONS; repetition++)
      for (pairs = 1; pairs <= ranks / 2; pairs++) {
        transfer(bytes, pairs, 1);
        transfer(bytes, pairs, 2);
      }
  }
  MPI_Finalize();
  return EXIT_SUCCESS;
}
