/* A random program, chosen by its seed, whose messages depend on the order of earlier ones.
 *
 * It consists of phases that each follow one of the patterns below. The sizes and destinations of a
 * rank's messages follow from a state that each choice of MPI changes: the index of a completed
 * request, the source of a message. No two runs are the same, and none can deadlock. */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

enum { PHASES = 6, MOST = 64, BYTES = 20000 };
static int me, ranks;
static uint64_t shared_seed; /* the same on all ranks */
static uint64_t state;       /* hash of this rank's choices so far */
static char in[MOST][BYTES], out[BYTES];
static MPI_Request requests[MOST];

static uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}
static int drawn(int below) { /* the same on all ranks */
  shared_seed = mixed(shared_seed + UINT64_C(0x9e3779b97f4a7c15));
  return (int)(shared_seed % (uint64_t)below);
}
static int choose(int below) { return (int)((state = mixed(state + 77)) % (uint64_t)below); }
static void note(int choice) { state = mixed(state ^ (uint64_t)choice * 1001); }
static int size_now(void) { return choose(4) == 0 ? choose(BYTES) : choose(200); }

static void work(void) {
  volatile double sum = 0;
  for (int i = choose(3000); i > 0; --i) sum += i;
  if (choose(3) == 0) usleep((useconds_t)choose(300));
}

/* Completes one or more of `count` requests in one of four ways; returns their number. */
static int complete(int how, int count, int done[]) {
  int number = 0, flag = 0;
  if (how == 0) {
    MPI_Waitany(count, requests, done, MPI_STATUS_IGNORE);
    number = done[0] == MPI_UNDEFINED ? 0 : 1;
  } else if (how == 1) {
    MPI_Waitsome(count, requests, &number, done, MPI_STATUSES_IGNORE);
  } else if (how == 2) {
    while (!flag) MPI_Testany(count, requests, done, &flag, MPI_STATUS_IGNORE);
    number = done[0] == MPI_UNDEFINED ? 0 : 1;
  } else {
    while (number == 0) MPI_Testsome(count, requests, &number, done, MPI_STATUSES_IGNORE);
  }
  if (number == MPI_UNDEFINED) number = 0;
  for (int i = 0; i < number; ++i) note(done[i]);
  return number;
}

/* Receives the next message with this tag, and returns its source. */
static int receive_any(int how, int tag) {
  MPI_Status status;
  MPI_Request request;
  MPI_Message message;
  int flag = 0, count;
  if (how == 0) {
    MPI_Recv(in[0], BYTES, MPI_CHAR, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
  } else if (how == 1) {
    MPI_Probe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
    MPI_Recv(in[0], BYTES, MPI_CHAR, status.MPI_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (how == 2) {
    while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &status);
    MPI_Recv(in[0], BYTES, MPI_CHAR, status.MPI_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (how == 3) {
    MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &message, &status);
    MPI_Get_count(&status, MPI_CHAR, &count);
    MPI_Mrecv(in[0], count, MPI_CHAR, &message, MPI_STATUS_IGNORE);
  } else {
    MPI_Irecv(in[0], BYTES, MPI_CHAR, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &request);
    while (!flag) MPI_Test(&request, &flag, &status);
  }
  note(status.MPI_SOURCE);
  return status.MPI_SOURCE;
}

/* Rank 0 gives a new task to each worker that completes one, until none are left. */
static void tasks(int phase, int how, int any_how, int with_requests) {
  const int tag = 10 * phase, total = 3 * ranks;
  if (me != 0) {
    MPI_Status status;
    for (;;) {
      MPI_Recv(in[0], BYTES, MPI_CHAR, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      if (status.MPI_TAG == tag + 1) return;
      work();
      MPI_Send(out, size_now(), MPI_CHAR, 0, tag + 2, MPI_COMM_WORLD);
    }
  }
  int given = 0, busy = 0;
  for (int i = 0; i < MOST; ++i) requests[i] = MPI_REQUEST_NULL;
  for (int worker = 1; worker < ranks; ++worker, ++given, ++busy) {
    MPI_Send(out, size_now(), MPI_CHAR, worker, tag, MPI_COMM_WORLD);
    if (with_requests) {
      MPI_Irecv(in[worker], BYTES, MPI_CHAR, worker, tag + 2, MPI_COMM_WORLD, &requests[worker]);
    }
  }
  while (busy > 0) {
    int done[MOST];
    const int number = with_requests ? complete(how, ranks, done) : 1;
    if (!with_requests) done[0] = receive_any(any_how, tag + 2);
    for (int i = 0; i < number; ++i) {
      const int more = given < total;
      work();
      MPI_Send(out, more ? size_now() : 0, MPI_CHAR, done[i], more ? tag : tag + 1, MPI_COMM_WORLD);
      if (more && with_requests) {
        MPI_Irecv(in[done[i]], BYTES, MPI_CHAR, done[i], tag + 2, MPI_COMM_WORLD,
                  &requests[done[i]]);
      }
      given += more;
      busy -= !more;
    }
  }
}

/* All-to-all; each message is answered on arrival, and the answers are waited for, too. */
static void dataflow(int phase, int how, int persistent) {
  const int tag = 10 * phase;
  int left = 3 * (ranks - 1); /* messages, their sends, and answers */
  for (int i = 0; i < MOST; ++i) requests[i] = MPI_REQUEST_NULL;
  MPI_Request kept[MOST];
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == me) continue;
    MPI_Request* const first = &requests[peer];
    if (persistent) {
      MPI_Recv_init(in[peer], BYTES, MPI_CHAR, peer, tag, MPI_COMM_WORLD, first);
      MPI_Start(first);
      kept[peer] = *first;
    } else {
      MPI_Irecv(in[peer], BYTES, MPI_CHAR, peer, tag, MPI_COMM_WORLD, first);
    }
    MPI_Irecv(in[ranks + peer], BYTES, MPI_CHAR, peer, tag + 1, MPI_COMM_WORLD,
              &requests[ranks + peer]);
    MPI_Isend(out, 100 * me, MPI_CHAR, peer, tag, MPI_COMM_WORLD, &requests[2 * ranks + peer]);
  }
  while (left > 0) {
    int done[MOST];
    const int number = complete(how, 3 * ranks, done);
    left -= number;
    for (int i = 0; i < number; ++i) {
      work();
      if (done[i] < ranks) MPI_Send(out, choose(500), MPI_CHAR, done[i], tag + 1, MPI_COMM_WORLD);
    }
  }
  for (int peer = 0; persistent && peer < ranks; ++peer) {
    if (peer != me) MPI_Request_free(&kept[peer]);
  }
}

/* Tokens make a number of hops; the next destination depends on the order of earlier arrivals.
 * Rank 0 is notified of each token at its end, and then notifies all ranks. */
static void tokens(int phase, int any_how) {
  const int tag = 10 * phase;
  int hops, ended = 0;
  MPI_Status status;
  int token = 4 + me;
  MPI_Send(&token, 1, MPI_INT, (me + 1) % ranks, tag, MPI_COMM_WORLD);
  for (;;) {
    if (any_how == 0) {
      MPI_Recv(&hops, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    } else {
      MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      MPI_Recv(&hops, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
    }
    note(status.MPI_SOURCE);
    if (status.MPI_TAG == tag + 2) return;
    if (status.MPI_TAG == tag) {
      work();
      --hops;
      /* Not to itself: some platforms have no loopback route. */
      const int next = hops == 0 ? 0 : (me + 1 + choose(ranks - 1)) % ranks;
      if (next != me) {
        MPI_Send(&hops, 1, MPI_INT, next, hops == 0 ? tag + 1 : tag, MPI_COMM_WORLD);
        continue;
      }
    }
    if (++ended == ranks) break; /* on rank 0 */
  }
  for (int rank = 1; rank < ranks; ++rank) {
    MPI_Send(&hops, 1, MPI_INT, rank, tag + 2, MPI_COMM_WORLD);
  }
}

/* The source of the first message determines the order of the remaining receives. */
static void first_decides(int phase, int any_how) {
  const int tag = 10 * phase;
  if (me != 0) {
    for (int i = 0; i < 2; ++i) {
      work();
      MPI_Send(out, size_now(), MPI_CHAR, 0, tag, MPI_COMM_WORLD);
    }
    return;
  }
  const int first = receive_any(any_how, tag);
  for (int i = 0; i < 2 * ranks; ++i) {
    const int source = (first + i) % ranks;
    if (source == 0 || i == ranks) continue;
    MPI_Recv(in[0], BYTES, MPI_CHAR, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

/* Halos that are unpacked in order of arrival, which decides nothing. */
static void halo(int phase, int how) {
  const int tag = 10 * phase, right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
  for (int turn = 0; turn < 3; ++turn) {
    MPI_Irecv(in[0], BYTES, MPI_CHAR, left, tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in[1], BYTES, MPI_CHAR, right, tag + 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(out, 3000, MPI_CHAR, right, tag, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(out, 3000, MPI_CHAR, left, tag + 1, MPI_COMM_WORLD, &requests[3]);
    for (int open = 4; open > 0;) {
      int done[4];
      open -= complete(how, 4, done);
      work();
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  shared_seed = argc > 1 ? (uint64_t)atoi(argv[1]) : 0;
  state = (uint64_t)getpid(); /* no two runs are the same */
  for (int phase = 1; phase <= PHASES; ++phase) {
    const int pattern = drawn(5), how = drawn(4), any_how = drawn(5), flag = drawn(2);
    if (pattern == 0) tasks(phase, how, any_how, flag);
    if (pattern == 1) dataflow(phase, how, flag);
    if (pattern == 2) tokens(phase, flag);
    if (pattern == 3) first_decides(phase, any_how);
    if (pattern == 4) halo(phase, how);
    /* A message of the next phase must not be taken for a token. */
    if (drawn(2) == 0 || pattern == 2) MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
