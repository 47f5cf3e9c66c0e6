/* The measurements, their order and their repetitions. */

static int log_uniform(double smallest, double largest) {
  return (int)(smallest * exp(uniform() * log(largest / smallest)) + 0.5);
}

static int compare(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

/* Returns whether the 95 % interval of the median is within 3 % of it.  The interval is between two
   order statistics, whose ranks follow from a binomial distribution. */
static int is_well_known(double* times, int count) {
  double probability = pow(0.5, count), below = probability, middle;
  int k = 0; /* number of times below the interval, with a probability of at most 2.5 % */
  if (probability > 0.025) return 0;
  while (k + 1 < count / 2) {
    probability *= (double)(count - k) / (k + 1);
    if (below + probability > 0.025) break;
    below += probability;
    k++;
  }
  qsort(times, (size_t)count, sizeof *times, compare);
  middle = (times[(count - 1) / 2] + times[count / 2]) / 2;
  return times[k] > 0.97 * middle && times[count - 1 - k] < 1.03 * middle;
}

/* Prints the first line of the MPI library's version string, as a comment. */
static void print_library(void) {
  char name[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(name, &length);
  printf("# library: %.*s\n", (int)strcspn(name, "\r\n"), name);
}

/* Rank 0: measures every size in each round, in random order, until its median is known. */
static void measure_sizes(const int* sizes, int count, int repetitions) {
  int most = repetitions * MAX_ROUNDS_FACTOR, round, i, left = count;
  double* times = malloc(sizeof *times * (size_t)count * (size_t)most);
  int* places = malloc(sizeof *places * (size_t)count);
  for (i = 0; i < count; i++) places[i] = i;
  for (i = 0; i < WARM_UP; i++) measure(1, 0, 0);
  for (round = 0; round < most && left > 0; round++) {
    int kept = 0;
    shuffle(places, left);
    for (i = 0; i < left; i++) {
      double* own = times + (size_t)places[i] * (size_t)most;
      if (round >= repetitions && MPI_Wtime() > deadline) break;
      own[round] = measure(sizes[places[i]], 0, 1);
      if (round % 4 == 3) measure(sizes[places[i]], 1, 1);
      if (round + 1 < repetitions || !is_well_known(own, round + 1)) places[kept++] = places[i];
    }
    left = i < left ? 0 : kept;
  }
  free(times);
  free(places);
}

static void measure_streams(int largest) {
  int i, repetition, top = largest < MAX_STREAMED_BYTES ? largest : MAX_STREAMED_BYTES;
  for (i = 0; i < STREAM_SIZES; i++) {
    int bytes = log_uniform(1, top), messages = STREAM_BYTES / bytes;
    messages = messages > MAX_STREAM_LENGTH ? MAX_STREAM_LENGTH : messages;
    for (repetition = 0; repetition < STREAM_REPETITIONS; repetition++) stream(bytes, messages);
  }
}

/* Measures sizes below and above the eager limits of libraries: after a rendezvous, some report
   only at the end that a message has arrived. */
static void measure_arrivals(int largest) {
  int bytes, repetition;
  for (bytes = MAX_ARRIVING_BYTES; bytes >= MIN_ARRIVING_BYTES; bytes /= 8)
    for (repetition = 0; bytes <= largest && repetition < ARRIVAL_REPETITIONS; repetition++)
      arrival(bytes);
}

/* Measures patterns of all ranks: one pair and the maximum number of pairs, in one direction and in
   both, a shift, an incast, a fan-out.  When the time is up, remaining sizes are skipped. */
static void measure_patterns(int largest, int seconds) {
  int i, repetition, pairs, most = ranks / 2, goes_on = 1;
  double end = MPI_Wtime() + seconds;
  for (i = 0; i < PATTERN_SIZES && goes_on; i++) {
    int bytes = log_uniform(largest > 10 ? largest / 10.0 : 1, largest);
    for (repetition = 0; repetition < PATTERN_REPETITIONS; repetition++) {
      for (pairs = 1; pairs <= most; pairs += pairs < most ? most - 1 : 1) {
        transfer("pairs", bytes, pairs, 1);
        transfer("pairs", bytes, pairs, 2);
      }
      if (ranks > 2) {
        transfer("shift", bytes, ranks, 1);
        transfer("incast", bytes, ranks - 1, 1);
        transfer("fan-out", bytes, ranks - 1, 1);
      }
    }
    goes_on = MPI_Wtime() < end;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, all);
  }
}

static int argument(int argc, char** argv, int place, int otherwise, int most) {
  long value = argc > place ? strtol(argv[place], NULL, 10) : otherwise;
  if (value < 1 || value > most) {
    if (rank == 0) fprintf(stderr, "benchmark: argument %d must be from 1 to %d\n", place, most);
    MPI_Finalize();
    exit(EXIT_FAILURE);
  }
  return (int)value;
}

/* Groups the ranks by host: the first of each host take part in the patterns; with a single host,
   all do.  If there are other hosts, rank 0 exchanges messages with the host that it reaches
   fastest, and with a rank on its own host (-1: none). */
static void choose_partners(int largest, int seconds, int* outside, int* inside) {
  char* hosts = malloc((size_t)ranks * sizeof host);
  int* first = malloc((size_t)ranks * sizeof *first);
  int* others = malloc((size_t)ranks * sizeof *others);
  int count = 0, everybody = ranks, me = rank, nearest, i, j;
  if (!hosts || !first || !others) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  MPI_Allgather(host, sizeof host, MPI_CHAR, hosts, sizeof host, MPI_CHAR, MPI_COMM_WORLD);
  *inside = -1;
  for (i = 0; i < ranks; i++) {
    for (j = 0; strcmp(hosts + (size_t)i * sizeof host, hosts + (size_t)j * sizeof host); j++)
      ;
    first[i] = j;
    if (i == j)
      others[count++] = i;
    else if (j == 0 && *inside < 0)
      *inside = i;
  }
  if (count > 1) {
    nearest = count / 2;
    MPI_Comm_split(MPI_COMM_WORLD, first[rank] == rank ? 0 : MPI_UNDEFINED, rank, &all);
    if (count > 2 && all != MPI_COMM_NULL) {
      MPI_Comm_rank(all, &rank);
      MPI_Comm_size(all, &ranks);
      nearest = measure_network(largest, seconds / NETWORK_PART + 1);
      rank = me;
      ranks = everybody;
    }
    gather_sleeping();
    MPI_Bcast(&nearest, 1, MPI_INT, 0, MPI_COMM_WORLD);
    *outside = others[nearest];
  } else {
    *outside = ranks / 2;
    *inside = -1;
  }
  memcpy(peer, hosts + (size_t)*outside * sizeof host, sizeof host);
  free(hosts);
  free(first);
  free(others);
}

static void measure_outside(int largest, int count, int repetitions) {
  int *sizes = malloc(sizeof *sizes * (size_t)count), i;
  srand(2);
  for (i = 0; i < count; i++) sizes[i] = log_uniform(1, largest);
  measure_sizes(sizes, count, repetitions);
  measure_streams(largest);
  measure_polling();
  measure_arrivals(largest);
  order(END, 0, 0, 0);
  free(sizes);
}

static void measure_inside(int largest, int count, int repetitions, int seconds) {
  int *sizes = malloc(sizeof *sizes * (size_t)count), i;
  char other[sizeof peer];
  memcpy(other, peer, sizeof peer);
  memcpy(peer, host, sizeof host);
  deadline = MPI_Wtime() + seconds;
  for (i = 0; i < count; i++) sizes[i] = log_uniform(1, largest);
  measure_sizes(sizes, count, repetitions);
  order(END, 0, 0, 0);
  memcpy(peer, other, sizeof peer);
  free(sizes);
}

int main(int argc, char** argv) {
  int length, count, largest, repetitions, seconds, outside, inside;
  MPI_Init(&argc, &argv);
  all = MPI_COMM_WORLD;
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &ranks);
  if (ranks < 2) {
    fprintf(stderr, "benchmark: start at least two ranks\n");
    MPI_Finalize();
    return EXIT_FAILURE;
  }
  largest = argument(argc, argv, 1, 1 << 22, 1 << 30);
  count = argument(argc, argv, 2, 100, 10000);
  repetitions = argument(argc, argv, 3, 10, 10000);
  seconds = argument(argc, argv, 4, 300, 1 << 20);
  memset(host, 0, sizeof host);
  MPI_Get_processor_name(host, &length);
  out = malloc((size_t)largest);
  in = malloc((size_t)largest);
  if (!out || !in) {
    fprintf(stderr, "benchmark: no memory for messages of %d bytes\n", largest);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  memset(out, 1, (size_t)largest);
  memset(in, 0, (size_t)largest);
  if (rank == 0) {
    print_library();
    printf("operation,bytes,pairs,directions,seconds,host,peer,pattern,messages,round\n");
  }
  choose_partners(largest, seconds, &outside, &inside);
  deadline = MPI_Wtime() + seconds;

  partner = rank == 0 ? outside : 0;
  if (rank == 0) {
    measure_outside(largest, count, repetitions);
    if ((partner = inside) > 0)
      measure_inside(largest, count / INSIDE_PART + 2, repetitions, seconds / INSIDE_PART + 1);
  } else if (rank == outside)
    follow();
  else if (rank == inside)
    follow_later();
  gather_sleeping();
  measure_memory();
  if (all != MPI_COMM_NULL) {
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &ranks);
    srand(1); /* the same sizes on every rank */
    measure_patterns(largest, seconds / PATTERN_PART + 1);
  }
  gather_sleeping();
  if (rank == 0) {
    printf("# end\n"); /* all is measured, even if MPI_Finalize fails */
    fflush(stdout);
  }
  MPI_Finalize();
  return EXIT_SUCCESS;
}
