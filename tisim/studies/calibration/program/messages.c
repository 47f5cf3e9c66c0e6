/* Measures times of point-to-point messages, for `tisim calibrate`.  BSD-3-Clause.

   Compile and run it on two or more hosts, with one rank on each:

     mpicc -O2 -o benchmark benchmark.c -lm
     mpirun -n 2 --host hostA,hostB ./benchmark > measured.csv
     mpirun -n 4 --host hostA,hostB,hostC,hostD ./benchmark > measured.csv

   Optional arguments: largest size in bytes (4194304), number of sizes (100), minimum number of
   repetitions (10), time limit in seconds (300).  Then:

     tisim calibrate measured.csv --bandwidth 125MBps --latency 15us --links 2 -o platform.xml

   Two ranks on different hosts exchange messages; with three or more hosts, concurrent messages
   between all of them show shared switches, and hosts that are slower than others.  A second rank
   on the first host measures messages within a host:

     mpirun -n 5 --host hostA:2,hostB,hostC,hostD ./benchmark > measured.csv

   Sizes are drawn at random, uniformly on a logarithmic scale, and measured in random order, so
   that a temporary disturbance affects all sizes equally.  After a warm-up, each size is repeated
   until the 95 % confidence interval of the median of its ping-pongs is within 3 %, at most ten
   times the minimum number of repetitions, or until the time is up.  Every time is printed without
   averaging.  Idle ranks sleep. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DATA, CONTROL, NEVER };
enum { WARM_UP = 50, MAX_ROUNDS_FACTOR = 10, PATTERN_SIZES = 6, PATTERN_REPETITIONS = 12 };
enum { STREAM_SIZES = 24, STREAM_REPETITIONS = 7, MAX_STREAM_LENGTH = 64, STREAM_BYTES = 1 << 22 };
enum { MAX_STREAMED_BYTES = 1 << 18, EAGER = 1 << 16 };
enum { ARRIVING = 8, ARRIVAL_REPETITIONS = 7, MIN_ARRIVING_BYTES = 1 << 12 };
enum { MAX_ARRIVING_BYTES = 1 << 18 };
enum { POLLING_REPETITIONS = 51 };
enum { MIN_BLOCK = 1 << 10, MAX_BLOCK = 1 << 26, BLOCK_REPETITIONS = 15 };
/* Divisors of the sizes and seconds within a host, of the seconds for all pairs of hosts, and of
   those for patterns, relative to two hosts. */
enum { INSIDE_PART = 4, NETWORK_PART = 4, PATTERN_PART = 2 };

enum task { PING_PONG, STREAM, ARRIVAL, END }; /* tasks of the partner */

static int rank, ranks, partner;
static MPI_Comm all; /* ranks of the patterns, one per host */
static char *out, *in;
static char host[MPI_MAX_PROCESSOR_NAME], peer[MPI_MAX_PROCESSOR_NAME];
static double deadline;

static double uniform(void) { return (rand() + 0.5) / (RAND_MAX + 1.0); }

static void shuffle(int* numbers, int count) {
  int i;
  for (i = count - 1; i > 0; i--) {
    int other = (int)(uniform() * (i + 1)), swapped = numbers[i];
    numbers[i] = numbers[other];
    numbers[other] = swapped;
  }
}

static void print_row(const char* operation, long bytes, double seconds, int messages) {
  printf("%s,%ld,1,1,%.9g,%s,%s,pair,%d,0\n", operation, bytes, seconds, host, peer, messages);
}

static void sleep_for(double seconds) {
  struct timespec span = {0, (long)(seconds * 1e9)}; /* less than a second */
  nanosleep(&span, NULL);
}

static void send_number(double number) {
  MPI_Send(&number, 1, MPI_DOUBLE, partner, CONTROL, MPI_COMM_WORLD);
}

static double receive_number(void) {
  double number;
  MPI_Recv(&number, 1, MPI_DOUBLE, partner, CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return number;
}

static void send_data(int bytes) { MPI_Send(out, bytes, MPI_BYTE, partner, DATA, MPI_COMM_WORLD); }

static void receive_data(int bytes) {
  MPI_Recv(in, bytes, MPI_BYTE, partner, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Measures an MPI_Test and an MPI_Iprobe that find nothing. */
static void measure_polling(void) {
  MPI_Request request;
  double start, tested, probed;
  int repetition, found;
  MPI_Irecv(in, 1, MPI_BYTE, partner, NEVER, MPI_COMM_WORLD, &request);
  for (repetition = 0; repetition < POLLING_REPETITIONS; repetition++) {
    start = MPI_Wtime();
    MPI_Test(&request, &found, MPI_STATUS_IGNORE);
    tested = MPI_Wtime();
    MPI_Iprobe(partner, NEVER, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    probed = MPI_Wtime();
    print_row("test", 0, tested - start, 1);
    print_row("iprobe", 0, probed - tested, 1);
  }
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Measures copying a block, as an all-to-all of one rank does, and adding it to another, on all
   ranks concurrently: in a collective, those of a host share its memory. */
static void measure_memory(void) {
  char *from = malloc(MAX_BLOCK), *to = malloc(MAX_BLOCK);
  double start, copied, combined;
  int bytes, repetition;
  if (!from || !to) {
    fprintf(stderr, "benchmark: no memory for blocks of %d bytes\n", MAX_BLOCK);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  memset(from, 1, MAX_BLOCK); /* not 0: untouched pages have no memory */
  memset(to, 1, MAX_BLOCK);
  for (bytes = MIN_BLOCK; bytes <= MAX_BLOCK; bytes *= 4)
    for (repetition = 0; repetition < BLOCK_REPETITIONS; repetition++) {
      MPI_Barrier(MPI_COMM_WORLD);
      start = MPI_Wtime();
      MPI_Alltoall(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, MPI_COMM_SELF);
      copied = MPI_Wtime();
      MPI_Reduce_local(from, to, bytes / (int)sizeof(double), MPI_DOUBLE, MPI_SUM);
      combined = MPI_Wtime();
      if (rank == 0) {
        print_row("copy", bytes, copied - start, 1);
        print_row("combine", bytes, combined - copied, 1);
      }
    }
  free(from);
  free(to);
}

static void order(int task, int bytes, int count, int idle) {
  int next[4] = {task, bytes, count, idle};
  MPI_Send(next, 4, MPI_INT, partner, CONTROL, MPI_COMM_WORLD);
}

/* Round trips before the timed one: back to back, they leave the network's buffers as in a program
   that only communicates. */
static int before(int bytes) { return bytes <= EAGER ? 2 : 0; }

/* Returns the time in MPI_Send when the receiver is two round trips late: the message has arrived
   by then, if it can. */
static double send_late(int bytes, double round_trip) {
  double start;
  send_number(2 * round_trip);
  start = MPI_Wtime();
  send_data(bytes);
  return MPI_Wtime() - start;
}

/* The rank that times and prints: ping-pong back to back, MPI_Isend, a message that is received
   late; or a ping-pong after both ranks slept, and a message that is received late by a rank that
   probes until then.  Returns the round-trip time. */
static double measure(int bytes, int idle, int print) {
  MPI_Request request;
  double start, sent, received, round_trip;
  int i;
  order(PING_PONG, bytes, 1, idle);
  receive_number();
  if (idle) sleep_for(2e-3);
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
    sent = send_late(bytes, round_trip);
    if (print) {
      print_row("idle_pingpong", bytes, round_trip, 1);
      print_row("probed_send", bytes, sent, 1);
    }
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
  if (print) print_row("isend", bytes, sent, 1);

  sent = send_late(bytes, round_trip);
  received = receive_number();
  if (print) {
    print_row("late_send", bytes, sent, 1);
    print_row("recv", bytes, received, 1);
  }
  return round_trip;
}

/* Waits as long as requested, inside or outside of MPI. */
static void be_late(int probes) {
  double late = receive_number(), start = MPI_Wtime();
  int found;
  while (MPI_Wtime() - start < late)
    if (probes) MPI_Iprobe(partner, NEVER, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
}

static void answer(int bytes, int idle) {
  double start;
  int i;
  send_number(0);
  for (i = idle ? 0 : before(bytes); i >= 0; i--) {
    receive_data(bytes);
    send_data(bytes);
  }
  if (idle) {
    be_late(1);
    receive_data(bytes);
    return;
  }

  send_number(0);
  receive_data(bytes);

  be_late(0);
  start = MPI_Wtime();
  receive_data(bytes);
  send_number(MPI_Wtime() - start);
}

/* Sends many messages back to back, whose receives are posted (into one buffer, which is never
   read), until an answer reports that all have arrived. */
static void stream(int bytes, int messages) {
  MPI_Request requests[MAX_STREAM_LENGTH];
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

static void receive_stream(int bytes, int messages) {
  MPI_Request requests[MAX_STREAM_LENGTH];
  int i;
  for (i = 0; i < messages; i++)
    MPI_Irecv(in, bytes, MPI_BYTE, partner, DATA, MPI_COMM_WORLD, &requests[i]);
  send_number(0);
  MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
  MPI_Send(out, 0, MPI_BYTE, partner, DATA, MPI_COMM_WORLD);
}

/* Sends several messages to one receiver, timing the arrival of the first and of all.  On one
   connection they arrive one after the other; otherwise they share the bandwidth. */
static void arrival(int bytes) {
  MPI_Request requests[ARRIVING];
  int i;
  order(ARRIVAL, bytes, ARRIVING, 0);
  receive_number();
  for (i = 0; i < ARRIVING; i++)
    MPI_Isend(out, bytes, MPI_BYTE, partner, DATA, MPI_COMM_WORLD, &requests[i]);
  MPI_Waitall(ARRIVING, requests, MPI_STATUSES_IGNORE);
  print_row("arrival", bytes, receive_number(), 1);
  print_row("arrival", bytes, receive_number(), ARRIVING);
}

static void receive_arrivals(int bytes) {
  MPI_Request requests[ARRIVING];
  double start, first;
  int i;
  for (i = 0; i < ARRIVING; i++)
    MPI_Irecv(in, bytes, MPI_BYTE, partner, DATA, MPI_COMM_WORLD, &requests[i]);
  send_number(0);
  start = MPI_Wtime();
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  first = MPI_Wtime() - start;
  MPI_Waitall(ARRIVING, requests, MPI_STATUSES_IGNORE);
  start = MPI_Wtime() - start;
  send_number(first);
  send_number(start);
}

/* Executes the partner's tasks until it is told to end. */
static void follow(void) {
  int next[4]; /* task, bytes, count, idle */
  for (;;) {
    MPI_Recv(next, 4, MPI_INT, partner, CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (next[0] == END) return;
    if (next[0] == STREAM)
      receive_stream(next[1], next[2]);
    else if (next[0] == ARRIVAL)
      receive_arrivals(next[1]);
    else
      answer(next[1], next[3]);
  }
}

/* Sleeps until the first task, then follows. */
static void follow_later(void) {
  int told = 0;
  while (MPI_Iprobe(partner, CONTROL, MPI_COMM_WORLD, &told, MPI_STATUS_IGNORE), !told)
    sleep_for(1e-3);
  follow();
}
