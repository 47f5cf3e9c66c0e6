/* Times of point-to-point messages, for `tisim calibrate`.  BSD-3-Clause.

   Compile and run it on two hosts or more, a rank on each:

     mpicc -O2 -o benchmark benchmark.c -lm
     mpirun -n 2 --host hostA,hostB ./benchmark > measured.csv
     mpirun -n 4 --host hostA,hostB,hostC,hostD ./benchmark > measured.csv

   Optional arguments: largest size in bytes (4194304), number of sizes (100), least number of
   repetitions (10), most seconds (300).  Then:

     tisim calibrate measured.csv --bandwidth 125MBps --latency 15us --links 2 -o platform.xml

   Two ranks, the first one and the one in the middle, exchange messages; three and more, all of
   them at once, show what they share.

   Sizes are drawn at random, evenly on a logarithmic scale, and measured in random order, so that
   whatever disturbs the machine for a while disturbs all sizes alike.  After a warm-up, each size is
   repeated until the 95 % confidence interval of the median of its ping-pongs is within 3 %, ten
   times as often as the least number, or until the time is up.  Every time is printed, none is
   averaged.  Ranks that have nothing to do sleep. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DATA, CONTROL };
enum { WARM_UP = 50, MOST_REPETITIONS = 10, PATTERN_SIZES = 6, PATTERN_REPETITIONS = 12 };
enum { STREAM_SIZES = 24, STREAM_REPETITIONS = 7, LONGEST_STREAM = 64, STREAM_BYTES = 1 << 22 };
enum { LARGEST_STREAMED = 1 << 18, EAGER = 1 << 16 };

enum task { PING_PONG, STREAM, END }; /* what the partner is to do */

static int rank, ranks, partner;
static char *out, *in;
static char host[MPI_MAX_PROCESSOR_NAME], peer[MPI_MAX_PROCESSOR_NAME];
static double deadline;

static void print_row(const char *operation, long bytes, double seconds, int messages)
{
  printf("%s,%ld,1,1,%.9g,%s,%s,pair,%d\n", operation, bytes, seconds, host, peer, messages);
}

static void sleep_for(double seconds)
{
  struct timespec span = {0, (long)(seconds * 1e9)}; /* less than a second */
  nanosleep(&span, NULL);
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

static void send_data(int bytes) { MPI_Send(out, bytes, MPI_BYTE, partner, DATA, MPI_COMM_WORLD); }

static void receive_data(int bytes)
{
  MPI_Recv(in, bytes, MPI_BYTE, partner, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void order(int task, int bytes, int count, int idle)
{
  int next[4] = {task, bytes, count, idle};
  MPI_Send(next, 4, MPI_INT, partner, CONTROL, MPI_COMM_WORLD);
}

/* Round trips before the one that is timed: back to back, the buffers of the network are as a
   program leaves them that does nothing but communicate. */
static int before(int bytes) { return bytes <= EAGER ? 2 : 0; }

/* The rank that times and prints: ping-pong back to back, MPI_Isend, a message that is received
   late; or a ping-pong after both ranks slept.  Returns the round trip. */
static double measure(int bytes, int idle, int print)
{
  MPI_Request request;
  double start, sent, received, round_trip;
  int i;
  order(PING_PONG, bytes, 1, idle);
  receive_number();
  if (idle)
    sleep_for(2e-3);
  for (i = idle ? 0 : before(bytes); i > 0; i--) {
    send_data(bytes);
    receive_data(bytes);
  }
  start = MPI_Wtime();
  send_data(bytes);
  sent = MPI_Wtime() - start;
  receive_data(bytes);
  round_trip = MPI_Wtime() - start;
  if (idle) {
    if (print)
      print_row("idle_pingpong", bytes, round_trip, 1);
    return round_trip;
  }
  if (print) {
    print_row("send", bytes, sent, 1);
    print_row("pingpong", bytes, round_trip, 1);
  }

  receive_number(); /* the partner is about to receive */
  start = MPI_Wtime();
  MPI_Isend(out, bytes, MPI_BYTE, partner, DATA, MPI_COMM_WORLD, &request);
  sent = MPI_Wtime() - start;
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (print)
    print_row("isend", bytes, sent, 1);

  send_number(2 * round_trip); /* by then the next message has arrived, if it may */
  start = MPI_Wtime();
  send_data(bytes);
  sent = MPI_Wtime() - start;
  received = receive_number();
  if (print) {
    print_row("late_send", bytes, sent, 1);
    print_row("recv", bytes, received, 1);
  }
  return round_trip;
}

static void answer(int bytes, int idle)
{
  double start, late;
  int i;
  send_number(0);
  for (i = idle ? 0 : before(bytes); i >= 0; i--) {
    receive_data(bytes);
    send_data(bytes);
  }
  if (idle)
    return;

  send_number(0);
  receive_data(bytes);

  late = receive_number();
  for (start = MPI_Wtime(); MPI_Wtime() - start < late;)
    ;
  start = MPI_Wtime();
  receive_data(bytes);
  send_number(MPI_Wtime() - start);
}

/* Many messages in a row, whose receives are posted (into one buffer: nobody reads it); until an answer says that all are there. */
static void stream(int bytes, int messages)
{
  MPI_Request requests[LONGEST_STREAM];
  double start;
  int i;
  order(STREAM, bytes, messages, 0);
  receive_number();
  start = MPI_Wtime();
  for (i = 0; i < messages; i++)
    MPI_Isend(out, bytes, MPI_BYTE, partner, DATA, MPI_COMM_WORLD, &requests[i]);
  MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
  MPI_Recv(in, 0, MPI_BYTE, partner, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  print_row("stream", bytes, MPI_Wtime() - start, messages);
}

static void receive_stream(int bytes, int messages)
{
  MPI_Request requests[LONGEST_STREAM];
  int i;
  for (i = 0; i < messages; i++)
    MPI_Irecv(in, bytes, MPI_BYTE, partner, DATA, MPI_COMM_WORLD, &requests[i]);
  send_number(0);
  MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
  MPI_Send(out, 0, MPI_BYTE, partner, DATA, MPI_COMM_WORLD);
}

/* What the partner does until it is told to end. */
static void follow(void)
{
  int next[4]; /* task, bytes, count, idle */
  for (;;) {
    MPI_Recv(next, 4, MPI_INT, partner, CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (next[0] == END)
      return;
    if (next[0] == STREAM)
      receive_stream(next[1], next[2]);
    else
      answer(next[1], next[3]);
  }
}

/* Ranks that have had nothing to do sleep until rank 0 goes on with all of them. */
static void gather_sleeping(void)
{
  MPI_Request request;
  int done = 0;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done)
    sleep_for(1e-3);
}

/* All that a pattern sends and receives, until the last message is there. */
static void transfer(const char *pattern, int bytes, int pairs, int directions)
{
  int half = ranks / 2, count = 0, i;
  MPI_Request *requests = malloc(sizeof *requests * (size_t)(2 * ranks));
  double start, own, longest;
  MPI_Barrier(MPI_COMM_WORLD);
  start = MPI_Wtime();
  if (!strcmp(pattern, "shift")) {
    MPI_Irecv(in, bytes, MPI_BYTE, (rank + ranks - 1) % ranks, DATA, MPI_COMM_WORLD,
              &requests[count++]);
    MPI_Isend(out, bytes, MPI_BYTE, (rank + 1) % ranks, DATA, MPI_COMM_WORLD, &requests[count++]);
  } else if (!strcmp(pattern, "incast")) {
    for (i = 1; rank == 0 && i < ranks; i++)
      MPI_Irecv(in, bytes, MPI_BYTE, i, DATA, MPI_COMM_WORLD, &requests[count++]);
    if (rank)
      MPI_Isend(out, bytes, MPI_BYTE, 0, DATA, MPI_COMM_WORLD, &requests[count++]);
  } else {
    int pair = rank % half, first = rank < half, takes_part = rank < 2 * half && pair < pairs;
    int other = (rank + half) % (2 * half);
    if (takes_part && (directions == 2 || !first))
      MPI_Irecv(in, bytes, MPI_BYTE, other, DATA, MPI_COMM_WORLD, &requests[count++]);
    if (takes_part && (directions == 2 || first))
      MPI_Isend(out, bytes, MPI_BYTE, other, DATA, MPI_COMM_WORLD, &requests[count++]);
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  own = MPI_Wtime() - start;
  MPI_Reduce(&own, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("transfer,%d,%d,%d,%.9g,%s,%s,%s,1\n", bytes, pairs, directions, longest, host, peer,
           pattern);
  free(requests);
}

static double uniform(void) { return (rand() + 0.5) / (RAND_MAX + 1.0); }

static int log_uniform(double smallest, double largest)
{
  return (int)(smallest * exp(uniform() * log(largest / smallest)) + 0.5);
}

static int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* Whether the 95 % interval of the median lies within 3 % of it: between two order statistics, the
   ranks of which follow from a binomial distribution. */
static int is_well_known(double *times, int count)
{
  double probability = pow(0.5, count), below = probability, middle;
  int k = 0; /* so many times are below the interval with a probability of at most 2.5 % */
  if (probability > 0.025)
    return 0;
  while (k + 1 < count / 2) {
    probability *= (double)(count - k) / (k + 1);
    if (below + probability > 0.025)
      break;
    below += probability;
    k++;
  }
  qsort(times, (size_t)count, sizeof *times, compare);
  middle = (times[(count - 1) / 2] + times[count / 2]) / 2;
  return times[k] > 0.97 * middle && times[count - 1 - k] < 1.03 * middle;
}

static void shuffle(int *numbers, int count)
{
  int i;
  for (i = count - 1; i > 0; i--) {
    int other = (int)(uniform() * (i + 1)), swapped = numbers[i];
    numbers[i] = numbers[other];
    numbers[other] = swapped;
  }
}

/* Rank 0: every size in each round, in random order, until its median is known. */
static void measure_sizes(const int *sizes, int count, int repetitions)
{
  int most = repetitions * MOST_REPETITIONS, round, i, left = count;
  double *times = malloc(sizeof *times * (size_t)count * (size_t)most);
  int *places = malloc(sizeof *places * (size_t)count);
  for (i = 0; i < count; i++)
    places[i] = i;
  for (i = 0; i < WARM_UP; i++)
    measure(1, 0, 0);
  for (round = 0; round < most && left > 0; round++) {
    int kept = 0;
    shuffle(places, left);
    for (i = 0; i < left; i++) {
      double *own = times + (size_t)places[i] * (size_t)most;
      if (round >= repetitions && MPI_Wtime() > deadline)
        break;
      own[round] = measure(sizes[places[i]], 0, 1);
      if (round % 4 == 3)
        measure(sizes[places[i]], 1, 1);
      if (round + 1 < repetitions || !is_well_known(own, round + 1))
        places[kept++] = places[i];
    }
    left = i < left ? 0 : kept;
  }
  free(times);
  free(places);
}

static void measure_streams(int largest)
{
  int i, repetition, top = largest < LARGEST_STREAMED ? largest : LARGEST_STREAMED;
  for (i = 0; i < STREAM_SIZES; i++) {
    int bytes = log_uniform(1, top), messages = STREAM_BYTES / bytes;
    messages = messages > LONGEST_STREAM ? LONGEST_STREAM : messages;
    for (repetition = 0; repetition < STREAM_REPETITIONS; repetition++)
      stream(bytes, messages);
  }
}

/* Patterns of all ranks: pairs in one direction and in both, a shift, an incast. */
static void measure_patterns(int largest)
{
  int i, repetition, pairs;
  for (i = 0; i < PATTERN_SIZES; i++) {
    int bytes = log_uniform(largest > 10 ? largest / 10.0 : 1, largest);
    for (repetition = 0; repetition < PATTERN_REPETITIONS; repetition++) {
      for (pairs = 1; pairs <= ranks / 2; pairs++) {
        transfer("pairs", bytes, pairs, 1);
        transfer("pairs", bytes, pairs, 2);
      }
      if (ranks > 2) {
        transfer("shift", bytes, ranks, 1);
        transfer("incast", bytes, ranks - 1, 1);
      }
    }
  }
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
  if (ranks < 2) {
    fprintf(stderr, "benchmark: start two ranks or more\n");
    MPI_Finalize();
    return EXIT_FAILURE;
  }
  largest = argument(argc, argv, 1, 1 << 22, 1 << 30);
  count = argument(argc, argv, 2, 100, 10000);
  repetitions = argument(argc, argv, 3, 10, 10000);
  deadline = MPI_Wtime() + argument(argc, argv, 4, 300, 1 << 20);
  memset(host, 0, sizeof host);
  MPI_Get_processor_name(host, &length);
  out = malloc((size_t)largest);
  in = malloc((size_t)largest);
  sizes = malloc(sizeof *sizes * (size_t)count);
  if (!out || !in || !sizes) {
    fprintf(stderr, "benchmark: no memory for messages of %d bytes\n", largest);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  partner = rank == 0 ? ranks / 2 : 0;
  if (rank == 0 || rank == ranks / 2)
    MPI_Sendrecv(host, sizeof host, MPI_CHAR, partner, CONTROL, peer, sizeof peer, MPI_CHAR,
                 partner, CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  memset(out, 1, (size_t)largest);
  memset(in, 0, (size_t)largest);

  if (rank == 0) {
    printf("operation,bytes,pairs,directions,seconds,host,peer,pattern,messages\n");
    srand(2);
    for (i = 0; i < count; i++)
      sizes[i] = log_uniform(1, largest);
    measure_sizes(sizes, count, repetitions);
    measure_streams(largest);
    order(END, 0, 0, 0);
  } else if (rank == ranks / 2)
    follow();
  gather_sleeping();
  srand(1); /* the same sizes on every rank */
  measure_patterns(largest);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
