/* Concurrent messages of all hosts. */

/* Idle ranks sleep until rank 0 continues with all of them. */
static void gather_sleeping(void) {
  MPI_Request request;
  int done = 0;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done) sleep_for(1e-3);
}

/* Sends and receives all messages of a pattern, until the last has arrived. */
static void transfer(const char* pattern, int bytes, int pairs, int directions) {
  int half = ranks / 2, count = 0, i;
  MPI_Request* requests = malloc(sizeof *requests * (size_t)(2 * ranks));
  double start, own, longest;
  MPI_Barrier(all);
  start = MPI_Wtime();
  if (!strcmp(pattern, "shift")) {
    MPI_Irecv(in, bytes, MPI_BYTE, (rank + ranks - 1) % ranks, DATA, all, &requests[count++]);
    MPI_Isend(out, bytes, MPI_BYTE, (rank + 1) % ranks, DATA, all, &requests[count++]);
  } else if (!strcmp(pattern, "incast")) {
    for (i = 1; rank == 0 && i < ranks; i++)
      MPI_Irecv(in, bytes, MPI_BYTE, i, DATA, all, &requests[count++]);
    if (rank) MPI_Isend(out, bytes, MPI_BYTE, 0, DATA, all, &requests[count++]);
  } else if (!strcmp(pattern, "fan-out")) {
    for (i = 1; rank == 0 && i < ranks; i++)
      MPI_Isend(out, bytes, MPI_BYTE, i, DATA, all, &requests[count++]);
    if (rank) MPI_Irecv(in, bytes, MPI_BYTE, 0, DATA, all, &requests[count++]);
  } else {
    int pair = rank % half, first = rank < half, takes_part = rank < 2 * half && pair < pairs;
    int other = (rank + half) % (2 * half);
    if (takes_part && (directions == 2 || !first))
      MPI_Irecv(in, bytes, MPI_BYTE, other, DATA, all, &requests[count++]);
    if (takes_part && (directions == 2 || first))
      MPI_Isend(out, bytes, MPI_BYTE, other, DATA, all, &requests[count++]);
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  own = MPI_Wtime() - start;
  MPI_Reduce(&own, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, all);
  if (rank == 0)
    printf("transfer,%d,%d,%d,%.9g,%s,%s,%s,1,0\n", bytes, pairs, directions, longest, host, peer,
           pattern);
  free(requests);
}
