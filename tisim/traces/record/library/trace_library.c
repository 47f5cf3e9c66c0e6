/* Loading libtisim_trace, and merging the parts of all ranks with it. */
#include "trace_library.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unsupported.h"

/* Loading libtisim_trace. */

struct tisim_trace_library tisim_trace;

static bool find(void* library, const char* name, void* function) {
  void* const symbol = dlsym(library, name);
  memcpy(function, &symbol, sizeof symbol);
  return symbol != NULL;
}

bool tisim_load_trace_library(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "tisim record: %s; this rank writes text\n", dlerror());
    return false;
  }
  bool has_all = true;
#define FIND(result, name, parameters) \
  has_all = find(library, "tt_" #name, &tisim_trace.name) && has_all;
  TISIM_TRACE_FUNCTIONS(FIND)
#undef FIND
  if (has_all && tisim_trace.interface() == TT_INTERFACE) return true;
  fprintf(stderr, "tisim record: %s is of another version of tisim; this rank writes text\n", path);
  dlclose(library);
  return false;
}

/* The ranks merge their parts pairwise along a tree: in step k, each rank whose lowest set bit is
 * bit k sends its merged part to the rank without that bit. */

#define TAG 0
#define BYTES_PER_MESSAGE (1 << 30)
/* Merging takes memory proportional to the parts. Larger ones are left to `tisim pack`. */
#define MOST_BYTES (UINT64_C(4) << 30)

static MPI_Comm comm = MPI_COMM_NULL;

/* State of a rank at some step. */
struct merged {
  tt_bytes part; /* no bytes: no rank had a part */
  bool is_whole; /* no failure so far */
};

void tisim_prepare_merge(void) {
  PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
  PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

/* Sends the bytes once the receiver has replied that it has memory for them. */
static bool send_bytes(const char* bytes, uint64_t size, int to) {
  int has_memory = 0;
  if (PMPI_Send(&size, 1, MPI_UINT64_T, to, TAG, comm) != MPI_SUCCESS ||
      PMPI_Recv(&has_memory, 1, MPI_INT, to, TAG, comm, MPI_STATUS_IGNORE) != MPI_SUCCESS ||
      !has_memory) {
    return false;
  }
  while (size > 0) {
    const int count = (int)(size < BYTES_PER_MESSAGE ? size : BYTES_PER_MESSAGE);
    if (PMPI_Send(bytes, count, MPI_BYTE, to, TAG, comm) != MPI_SUCCESS) return false;
    bytes += count;
    size -= (uint64_t)count;
  }
  return true;
}

/* Appends a zero to the bytes. If memory is insufficient, returns false with no data, and the
 * sender sends none. */
static bool receive_bytes(tt_bytes* bytes, int from) {
  uint64_t size = 0;
  *bytes = (tt_bytes){NULL, 0};
  if (PMPI_Recv(&size, 1, MPI_UINT64_T, from, TAG, comm, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
    return false;
  }
  char* const data = calloc(1, (size_t)size + 1);
  bytes->data = data;
  const int has_memory = data != NULL;
  if (PMPI_Send(&has_memory, 1, MPI_INT, from, TAG, comm) != MPI_SUCCESS || !has_memory) {
    return false;
  }
  bytes->size = (size_t)size;
  for (uint64_t at = 0; at < size;) {
    const int count = (int)(size - at < BYTES_PER_MESSAGE ? size - at : BYTES_PER_MESSAGE);
    if (PMPI_Recv(data + at, count, MPI_BYTE, from, TAG, comm, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
      return false;
    }
    at += (uint64_t)count;
  }
  return true;
}

static void send_all(const struct merged* merged, int to) {
  char* const unsupported = tisim_list_unsupported("");
  const bool is_whole = merged->is_whole && unsupported != NULL;
  const uint64_t failed = is_whole ? 0 : 1;
  PMPI_Send(&failed, 1, MPI_UINT64_T, to, TAG, comm);
  if (is_whole && send_bytes(unsupported, strlen(unsupported), to)) {
    send_bytes(merged->part.data, merged->part.size, to);
  }
  free(unsupported);
}

static void receive_all(struct merged* merged, int from) {
  uint64_t failed = 1;
  tt_bytes unsupported = {NULL, 0};
  tt_bytes part = {NULL, 0};
  tt_bytes both = {NULL, 0};
  PMPI_Recv(&failed, 1, MPI_UINT64_T, from, TAG, comm, MPI_STATUS_IGNORE);
  if (failed == 0 && receive_bytes(&unsupported, from) && receive_bytes(&part, from)) {
    tisim_add_unsupported(unsupported.data);
    if (part.size == 0 || !merged->is_whole) {
      /* This rank already has everything. */
    } else if (merged->part.size == 0) {
      merged->part = part;
      part = (tt_bytes){NULL, 0};
    } else if (tisim_trace.merge(&merged->part, &part, &both) == TT_OK) {
      tisim_trace.free(&merged->part);
      merged->part = both;
    } else {
      merged->is_whole = false;
    }
  } else {
    merged->is_whole = false;
  }
  free(unsupported.data);
  free(part.data);
}

static bool is_small(uint64_t bytes) {
  uint64_t sum = 0;
  PMPI_Allreduce(&bytes, &sum, 1, MPI_UINT64_T, MPI_SUM, comm);
  return sum <= MOST_BYTES;
}

static bool write_trace(const struct merged* merged, const char* output) {
  if (!merged->is_whole || merged->part.size == 0) return false;
  char* const lines = tisim_list_unsupported("unsupported ");
  const int status =
      lines == NULL ? TT_MEMORY : tisim_trace.write_trace(&merged->part, output, lines, NULL);
  free(lines);
  return status == TT_OK;
}

void tisim_merge(const char* part, const char* output) {
  if (comm == MPI_COMM_NULL) return;
  struct merged merged = {{NULL, 0}, true};
  if (part != NULL) merged.is_whole = tisim_trace.part_of_file(part, &merged.part) == TT_OK;
  int rank = 0;
  int size = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  int is_written = 0;
  if (is_small(merged.part.size)) {
    for (int step = 1; step < size; step *= 2) {
      if ((rank & step) != 0) {
        send_all(&merged, rank - step);
        break;
      }
      if (rank + step < size) receive_all(&merged, rank + step);
    }
    if (rank == 0) is_written = write_trace(&merged, output);
    PMPI_Bcast(&is_written, 1, MPI_INT, 0, comm);
  }
  if (is_written && part != NULL) unlink(part);
  if (!is_written && rank == 0) {
    fprintf(stderr, "tisim record: the ranks could not merge their parts; tisim pack does\n");
  }
  tisim_trace.free(&merged.part);
  PMPI_Comm_free(&comm);
}
