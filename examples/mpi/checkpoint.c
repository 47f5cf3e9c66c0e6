/* Checkpoints in one of three patterns: one rank writes all data, each rank writes its own file, or
 * all ranks write their parts of one file.
 *
 *     mpicc -O2 checkpoint.c -o checkpoint
 *     tisim record -o checkpoint.tit --io posix -- mpirun -n 4 ./checkpoint shared direct 64 4 3 .
 *
 * The arguments: serial, file-per-process, shared, or gather (like serial, but without the file);
 * direct (O_DIRECT), fsync (at the end of each checkpoint) or cached; MiB per rank, and per write;
 * number of checkpoints; directory. Rank 0 prints the seconds that the checkpoints took.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MIB = 1 << 20, ALIGNMENT = 4096, TAG = 1 };

static int rank, size;
static const char *pattern, *mode;
static size_t bytes, block;

static void check(int holds, const char* what) {
  if (holds) return;
  perror(what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static int is(const char* word, const char* other) { return strcmp(word, other) == 0; }

static void write_part(int file, const char* data, off_t offset) {
  for (size_t done = 0; done < bytes; done += block)
    check(pwrite(file, data + done, block, offset + (off_t)done) == (ssize_t)block, "pwrite");
}

static void send_part(char* data) {
  for (size_t done = 0; done < bytes; done += block)
    MPI_Send(data + done, (int)block, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
}

/* Rank 0 receives block after block and writes each. */
static void gather_parts(int file, char* data) {
  for (int source = 0; source < size; ++source)
    for (size_t done = 0; done < bytes; done += block) {
      if (source > 0)
        MPI_Recv(data + done, (int)block, MPI_BYTE, source, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      const off_t offset = (off_t)(source * bytes + done);
      if (file >= 0) check(pwrite(file, data + done, block, offset) == (ssize_t)block, "pwrite");
    }
}

static void checkpoint(const char* directory, char* data) {
  char name[4096];
  const int flags = O_WRONLY | O_CREAT | (is(mode, "direct") ? O_DIRECT : 0);
  const int gathers = is(pattern, "serial") || is(pattern, "gather");
  const int has_file = is(pattern, "gather") ? 0 : gathers ? rank == 0 : 1;
  int file = -1;
  if (is(pattern, "file-per-process"))
    snprintf(name, sizeof name, "%s/checkpoint.%05d", directory, rank);
  else
    snprintf(name, sizeof name, "%s/checkpoint", directory);
  if (has_file) check((file = open(name, flags, 0666)) >= 0, name);
  if (gathers && rank > 0)
    send_part(data);
  else if (gathers)
    gather_parts(file, data);
  else
    write_part(file, data, is(pattern, "shared") ? (off_t)(rank * bytes) : 0);
  if (file >= 0 && is(mode, "fsync")) check(fsync(file) == 0, "fsync");
  if (file >= 0) check(close(file) == 0, "close");
}

int main(int argc, char** argv) {
  void* data;
  if (argc != 7) {
    fprintf(stderr, "checkpoint PATTERN MODE MIB_A_RANK MIB_A_WRITE CHECKPOINTS DIRECTORY\n");
    return 2;
  }
  pattern = argv[1];
  mode = argv[2];
  bytes = (size_t)atoi(argv[3]) * MIB;
  block = (size_t)atoi(argv[4]) * MIB;
  if (block == 0 || bytes % block != 0 || posix_memalign(&data, ALIGNMENT, bytes) != 0) return 2;
  memset(data, 1, bytes);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begun = MPI_Wtime();
  for (int i = atoi(argv[5]); i > 0; --i) {
    checkpoint(argv[6], data);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 0) printf("%.6f\n", MPI_Wtime() - begun);
  MPI_Finalize();
  return 0;
}
