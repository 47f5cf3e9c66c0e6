#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "execute.h"

/* Maximum memory shared by buffered sends; beyond that, earlier ones are awaited. */
#define MAX_BUFFERED_BYTES (INT64_C(256) << 20)

static int64_t live, peak; /* of received messages */
static int64_t largest_sent;
static int64_t buffered_total, largest_buffered; /* of the whole script */
static int64_t buffered_since;                   /* since the buffer was last empty */
static int64_t buffered_capacity;
static char* send_memory;
static void* buffered_memory;

void* memory_for(void* old, size_t count, size_t size) {
  void* const memory = realloc(old, (count + 1) * size);
  if (memory == NULL) fail("no memory for %zu times %zu bytes", count, size);
  return memory;
}

void* receive_buffer(int64_t bytes) {
  if (program.rehearsing) {
    live += bytes;
    if (live > peak) peak = live;
    return NULL;
  }
  void* const buffer = malloc((size_t)bytes + 1);
  if (buffer == NULL) fail("no memory for a message of %lld bytes", (long long)bytes);
  return buffer;
}

void release_buffer(void* buffer, int64_t bytes) {
  if (program.rehearsing) live -= bytes;
  free(buffer);
}

void* send_buffer(int64_t bytes) {
  if (program.rehearsing && bytes > largest_sent) largest_sent = bytes;
  return send_memory;
}

static void attach(void) {
  if (PMPI_Buffer_attach(buffered_memory, (int)buffered_capacity) != MPI_SUCCESS)
    fail("MPI_Buffer_attach has failed");
  buffered_since = 0;
}

void reserve_buffered(int64_t bytes) {
  const int64_t with_overhead = bytes + MPI_BSEND_OVERHEAD + 64;
  if (program.rehearsing) {
    buffered_total += with_overhead;
    if (with_overhead > largest_buffered) largest_buffered = with_overhead;
    return;
  }
  if (buffered_since + with_overhead > buffered_capacity) {
    void* memory;
    int size;
    PMPI_Buffer_detach(&memory, &size); /* waits until its messages have left */
    attach();
  }
  buffered_since += with_overhead;
}

int64_t needed_memory(void) { return peak + largest_sent + buffered_capacity; }

static int64_t value_in(const char* path, const char* key) {
  FILE* const file = fopen(path, "r");
  if (file == NULL) return -1;
  char text[256];
  long long value = -1;
  const size_t length = strlen(key);
  while (fgets(text, sizeof text, file) != NULL)
    if (strncmp(text, key, length) == 0 && sscanf(text + length, "%lld", &value) == 1) break;
  fclose(file);
  return value;
}

/* Returns the bytes available without swapping. INT64_MAX: unknown. */
static int64_t free_memory(void) {
  const int64_t kibibytes = value_in("/proc/meminfo", "MemAvailable:");
  int64_t available = kibibytes < 0 ? INT64_MAX : kibibytes * 1024;
  const int64_t limit = value_in("/sys/fs/cgroup/memory.max", "");
  const int64_t used = value_in("/sys/fs/cgroup/memory.current", "");
  if (limit >= 0 && used >= 0 && limit - used < available) available = limit - used;
  return available;
}

struct need {
  uint64_t host;
  int64_t bytes;
  int64_t available;
};

static void check_hosts(void) {
  const struct need own = {host_number(), needed_memory(), free_memory()};
  struct need* const all = memory_for(NULL, (size_t)program.ranks, sizeof *all);
  PMPI_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, program.control);
  int64_t here = 0;
  int first = -1;
  for (int rank = 0; rank < program.ranks; rank++) {
    if (all[rank].host != own.host) continue;
    if (first < 0) first = rank;
    here += all[rank].bytes;
  }
  free(all);
  if (here > own.available && first == program.rank)
    fail(
        "the messages of the ranks on this host need %.3g MB of memory, but %.3g MB are free; "
        "use more hosts",
        (double)here / 1e6, (double)own.available / 1e6);
  PMPI_Barrier(program.control);
}

void allocate_memory(void) {
  /* Freed memory is reused: only the first pass has page faults. */
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  buffered_capacity = buffered_total < MAX_BUFFERED_BYTES ? buffered_total : MAX_BUFFERED_BYTES;
  if (buffered_capacity < largest_buffered) buffered_capacity = largest_buffered;
  if (buffered_capacity > INT32_MAX) fail("a buffered message is larger than MPI can buffer");
  check_hosts();
  send_memory = malloc((size_t)largest_sent + 1);
  buffered_memory = malloc((size_t)buffered_capacity + 1);
  if (send_memory == NULL || buffered_memory == NULL) fail("no memory for messages");
  memset(send_memory, 1, (size_t)largest_sent + 1);
  if (buffered_capacity > 0) attach();
}
