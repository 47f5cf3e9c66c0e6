/* Measures which hosts are close to each other, and the bandwidth of each.  In a round of a
   tournament every host has a partner, and all pairs send concurrently: those that share a link are
   slower. */

enum { TOURNAMENTS = 3, SHORT_TRIPS = 10, SCALE = 64 };
static const double ROUND_SECONDS = 0.03; /* approximate duration of a round without sharing */

/* Returns the partner of a place in a round of a round-robin tournament (the circle method); -1 for
   none, if the number of places is odd. */
static int opponent(int place, int places, int round) {
  int turning = places + places % 2 - 1, other; /* the last place does not rotate */
  if (place == turning)
    other = round;
  else if (place == round)
    other = turning;
  else
    other = ((2 * round - place) % turning + turning) % turning;
  return other < places ? other : -1;
}

/* All hosts send to their partners, in one direction, until each receiver has its message.  Returns
   the receiver's time, or 0 on the sender. */
static double send_to_opponent(int other, int sends, int bytes) {
  double start;
  MPI_Barrier(all);
  start = MPI_Wtime();
  if (other < 0) return 0;
  if (sends)
    MPI_Send(out, bytes, MPI_BYTE, other, DATA, all);
  else
    MPI_Recv(in, bytes, MPI_BYTE, other, DATA, all, MPI_STATUS_IGNORE);
  return sends ? 0 : MPI_Wtime() - start;
}

/* Returns the shortest of several round trips of one byte. */
static double short_trip(int other, int begins) {
  double start, least = 0;
  int i;
  for (i = 0; i < SHORT_TRIPS; i++) {
    start = MPI_Wtime();
    if (begins) MPI_Send(out, 1, MPI_BYTE, other, DATA, all);
    MPI_Recv(in, 1, MPI_BYTE, other, DATA, all, MPI_STATUS_IGNORE);
    if (!begins) MPI_Send(out, 1, MPI_BYTE, other, DATA, all);
    start = MPI_Wtime() - start;
    if (i == 0 || start < least) least = start;
  }
  return least;
}

/* Prints the times measured by the receivers of a round. */
static void print_round(const char* operation, int bytes, int number, double own, int other,
                        const char* hosts, double* times, int* others) {
  int i, pairs = 0;
  MPI_Gather(&own, 1, MPI_DOUBLE, times, 1, MPI_DOUBLE, 0, all);
  MPI_Gather(&other, 1, MPI_INT, others, 1, MPI_INT, 0, all);
  if (rank) return;
  for (i = 0; i < ranks; i++) pairs += times[i] > 0;
  for (i = 0; i < ranks; i++)
    if (times[i] > 0)
      printf("%s,%d,%d,1,%.9g,%s,%s,pair,1,%d\n", operation, bytes, pairs, times[i],
             hosts + (size_t)others[i] * sizeof host, hosts + (size_t)i * sizeof host, number);
}

/* Returns a message size for which a round takes about ROUND_SECONDS. */
static int bytes_of_rounds(int largest) {
  int bytes = largest < SCALE ? largest : largest / SCALE, other = rank ^ 1, i;
  double took = 0, longest = 0;
  if (other >= ranks) other = -1;
  for (i = 0; i < 3; i++) took = send_to_opponent(other, rank % 2, bytes);
  MPI_Allreduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, all);
  if (longest * largest < ROUND_SECONDS * bytes) return largest;
  return longest > ROUND_SECONDS ? bytes : (int)(bytes * (ROUND_SECONDS / longest));
}

/* Measures all pairs; returns the host that receives messages of rank 0 fastest. */
static int measure_network(int largest, double seconds) {
  int *order = malloc(sizeof *order * (size_t)ranks),
      *place = malloc(sizeof *place * (size_t)ranks);
  int* others = malloc(sizeof *others * (size_t)ranks);
  double *times = malloc(sizeof *times * (size_t)ranks), own, least = 0,
         end = MPI_Wtime() + seconds;
  char* hosts = malloc((size_t)ranks * sizeof host);
  int rounds = ranks + ranks % 2 - 1, nearest = ranks / 2, number = 0, goes_on = 1, i, round, turn;
  int bytes = bytes_of_rounds(largest);
  MPI_Gather(host, sizeof host, MPI_CHAR, hosts, sizeof host, MPI_CHAR, 0, all);
  srand(3); /* the same order on every rank */
  for (i = 0; i < ranks; i++) order[i] = i;
  for (i = 0; i < TOURNAMENTS && goes_on; i++) {
    shuffle(order, ranks);
    for (round = 0; round < ranks; round++) place[order[round]] = round;
    for (round = 0; round < rounds; round++) {
      int mine = place[rank], met = opponent(mine, ranks, round), other = met < 0 ? -1 : order[met];
      own = other < 0 ? 0 : short_trip(other, mine < met);
      print_round("short_trip", 1, ++number, mine < met ? own : 0, other, hosts, times, others);
      for (turn = 0; turn < 2; turn++) {
        own = send_to_opponent(other, (mine < met) == (turn == 0), bytes);
        print_round("beside", bytes, ++number, own, other, hosts, times, others);
        if (rank == 0 && others[0] >= 0 && (least == 0 || times[others[0]] < least) &&
            times[others[0]] > 0) {
          least = times[others[0]];
          nearest = others[0];
        }
      }
    }
    goes_on = MPI_Wtime() < end;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, all);
  }
  free(order);
  free(place);
  free(others);
  free(times);
  free(hosts);
  return nearest;
}
