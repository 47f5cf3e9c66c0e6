/* Records the events of a program's MPI calls in OTF2's model, one file per rank.
 *
 * It is linked into the program and calls the next definition of each MPI function, which may be
 * another recorder's, so that both record the same run. Lines: "enter NAME TIME", "leave TIME"
 * (nanoseconds), "comm NUMBER RANKS", "send|recv PEER COMM TAG BYTES", "isend|irecv ... REQUEST",
 * "posted REQUEST", "sent REQUEST", "collective NAME COMM ROOT SENT RECEIVED"; ranks are relative
 * to the communicator.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

enum { MOST = 64 };

static FILE* file;
static MPI_Comm comms[MOST];
static int comm_count;
/* Pending requests: the MPI handle, and whether it is a receive. */
static struct {
  MPI_Request request;
  long number;
  int receives;
  MPI_Comm comm;
} pending[MOST];
static long requests;

static long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000L + time.tv_nsec;
}
static void enter(const char* name) { fprintf(file, "enter %s %ld\n", name, now()); }
static void leave(void) { fprintf(file, "leave %ld\n", now()); }

static int number_of(MPI_Comm comm) {
  for (int i = 0; i < comm_count; ++i) {
    if (comms[i] == comm) return i;
  }
  MPI_Group group, world;
  int size;
  PMPI_Comm_group(comm, &group);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  PMPI_Group_size(group, &size);
  fprintf(file, "comm %d", comm_count);
  for (int rank = 0; rank < size; ++rank) {
    int of_world;
    PMPI_Group_translate_ranks(group, 1, &rank, world, &of_world);
    fprintf(file, " %d", of_world);
  }
  fprintf(file, "\n");
  comms[comm_count] = comm;
  return comm_count++;
}

static long bytes(int count, MPI_Datatype type) {
  int size;
  PMPI_Type_size(type, &size);
  return (long)count * size;
}

static void send(int peer, MPI_Comm comm, int tag, long size) {
  if (peer == MPI_PROC_NULL) return;
  const int number = number_of(comm);
  fprintf(file, "send %d %d %d %ld\n", peer, number, tag, size);
}

static void received(const MPI_Status* status, MPI_Comm comm, long request) {
  if (status->MPI_SOURCE == MPI_PROC_NULL) return;
  int size;
  PMPI_Get_count(status, MPI_BYTE, &size);
  const int number = number_of(comm);
  fprintf(file, request < 0 ? "recv %d %d %d %d\n" : "irecv %d %d %d %d %ld\n", status->MPI_SOURCE,
          number, status->MPI_TAG, size, request);
}

static void post(MPI_Request request, int receives, MPI_Comm comm) {
  int place = 0;
  while (pending[place].number) ++place;
  pending[place].request = request;
  pending[place].number = ++requests;
  pending[place].receives = receives;
  pending[place].comm = comm;
}

static void completed(MPI_Request request, const MPI_Status* status) {
  for (int i = 0; i < MOST; ++i) {
    if (pending[i].number == 0 || pending[i].request != request) continue;
    if (pending[i].receives) {
      received(status, pending[i].comm, pending[i].number);
    } else {
      fprintf(file, "sent %ld\n", pending[i].number);
    }
    pending[i].number = 0;
    return;
  }
}

int MPI_Init(int* argc, char*** argv) {
  const int error = NEXT(MPI_Init)(argc, argv);
  int rank;
  char name[512];
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(name, sizeof name, "%s/events-%d.txt", getenv("RECORDED_TO"), rank);
  file = fopen(name, "w");
  number_of(MPI_COMM_WORLD);
  enter("MPI_Init");
  leave();
  return error;
}

int MPI_Finalize(void) {
  enter("MPI_Finalize");
  leave();
  fclose(file);
  return NEXT(MPI_Finalize)();
}

#define SEND(name)                                                                             \
  int name(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) { \
    enter(#name);                                                                              \
    send(to, comm, tag, bytes(count, type));                                                   \
    const int error = NEXT(name)(buffer, count, type, to, tag, comm);                          \
    leave();                                                                                   \
    return error;                                                                              \
  }
SEND(MPI_Send)
SEND(MPI_Ssend)

int MPI_Recv(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status* status) {
  MPI_Status found;
  enter("MPI_Recv");
  const int error = NEXT(MPI_Recv)(buffer, count, type, from, tag, comm, &found);
  received(&found, comm, -1);
  leave();
  if (status != MPI_STATUS_IGNORE) *status = found;
  return error;
}

int MPI_Sendrecv(const void* out, int out_count, MPI_Datatype out_type, int to, int out_tag,
                 void* in, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                 MPI_Status* status) {
  MPI_Status found;
  enter("MPI_Sendrecv");
  const int error = NEXT(MPI_Sendrecv)(out, out_count, out_type, to, out_tag, in, count, type, from,
                                       tag, comm, &found);
  send(to, comm, out_tag, bytes(out_count, out_type));
  received(&found, comm, -1);
  leave();
  if (status != MPI_STATUS_IGNORE) *status = found;
  return error;
}

int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  enter("MPI_Isend");
  const int error = NEXT(MPI_Isend)(buffer, count, type, to, tag, comm, request);
  post(*request, 0, comm);
  fprintf(file, "isend %d %d %d %ld %ld\n", to, number_of(comm), tag, bytes(count, type), requests);
  leave();
  return error;
}

int MPI_Irecv(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  enter("MPI_Irecv");
  const int error = NEXT(MPI_Irecv)(buffer, count, type, from, tag, comm, request);
  post(*request, 1, comm);
  fprintf(file, "posted %ld\n", requests);
  leave();
  return error;
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  const MPI_Request waited = *request;
  MPI_Status found;
  enter("MPI_Wait");
  const int error = NEXT(MPI_Wait)(request, &found);
  completed(waited, &found);
  leave();
  if (status != MPI_STATUS_IGNORE) *status = found;
  return error;
}

int MPI_Waitall(int count, MPI_Request* all, MPI_Status* statuses) {
  MPI_Request waited[MOST];
  MPI_Status found[MOST];
  for (int i = 0; i < count; ++i) waited[i] = all[i];
  enter("MPI_Waitall");
  const int error = NEXT(MPI_Waitall)(count, all, found);
  for (int i = 0; i < count; ++i) {
    completed(waited[i], &found[i]);
    if (statuses != MPI_STATUSES_IGNORE) statuses[i] = found[i];
  }
  leave();
  return error;
}

int MPI_Test(MPI_Request* request, int* is_complete, MPI_Status* status) {
  const MPI_Request tested = *request;
  MPI_Status found;
  enter("MPI_Test");
  const int error = NEXT(MPI_Test)(request, is_complete, &found);
  if (*is_complete) completed(tested, &found);
  leave();
  if (*is_complete && status != MPI_STATUS_IGNORE) *status = found;
  return error;
}

static void collective(const char* name, MPI_Comm comm, int root, long sent, long got) {
  const int number = number_of(comm);
  fprintf(file, "collective %s %d %d %ld %ld\n", name, number, root, sent, got);
}

#define RANKS(comm)            \
  int rank, size;              \
  PMPI_Comm_rank(comm, &rank); \
  PMPI_Comm_size(comm, &size)

int MPI_Barrier(MPI_Comm comm) {
  enter("MPI_Barrier");
  const int error = NEXT(MPI_Barrier)(comm);
  collective("BARRIER", comm, 0, 0, 0);
  leave();
  return error;
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  RANKS(comm);
  enter("MPI_Bcast");
  const int error = NEXT(MPI_Bcast)(buffer, count, type, root, comm);
  const long part = bytes(count, type);
  collective("BCAST", comm, root, rank == root ? part * size : 0, part);
  leave();
  return error;
}

int MPI_Reduce(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
  RANKS(comm);
  enter("MPI_Reduce");
  const int error = NEXT(MPI_Reduce)(out, in, count, type, op, root, comm);
  const long part = bytes(count, type);
  collective("REDUCE", comm, root, part, rank == root ? part * size : 0);
  leave();
  return error;
}

int MPI_Allreduce(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  RANKS(comm);
  enter("MPI_Allreduce");
  const int error = NEXT(MPI_Allreduce)(out, in, count, type, op, comm);
  const long part = bytes(count, type);
  collective("ALLREDUCE", comm, 0, part * size, part * size);
  leave();
  return error;
}

int MPI_Gather(const void* out, int count, MPI_Datatype type, void* in, int in_count,
               MPI_Datatype in_type, int root, MPI_Comm comm) {
  RANKS(comm);
  enter("MPI_Gather");
  const int error = NEXT(MPI_Gather)(out, count, type, in, in_count, in_type, root, comm);
  const long part = bytes(count, type);
  collective("GATHER", comm, root, part, rank == root ? part * size : 0);
  leave();
  return error;
}

int MPI_Alltoall(const void* out, int count, MPI_Datatype type, void* in, int in_count,
                 MPI_Datatype in_type, MPI_Comm comm) {
  RANKS(comm);
  enter("MPI_Alltoall");
  const int error = NEXT(MPI_Alltoall)(out, count, type, in, in_count, in_type, comm);
  const long part = bytes(count, type) * size;
  collective("ALLTOALL", comm, 0, part, part);
  leave();
  return error;
}
