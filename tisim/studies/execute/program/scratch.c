#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "execute.h"

enum { BUCKETS = 4096, BLOCK = 1 << 20 };

static struct scratch_file* all;
static struct scratch_file* buckets[BUCKETS];
/* Hashes of the files that any rank creates, in ascending order. */
static uint64_t* created;
static int created_count = -1; /* -1: unknown */

static uint64_t hash_of(const char* path) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (; *path != '\0'; path++) hash = (hash ^ (unsigned char)*path) * UINT64_C(0x100000001b3);
  return hash;
}

static void* checked(void* memory) {
  if (memory == NULL) fail("no memory for the names of files");
  return memory;
}

/* Every name of the trace is placed below the directory: `..` becomes `__`. */
struct scratch_file* scratch_file_of(const int64_t* name, int64_t count) {
  const char* const directory = program.options.scratch;
  if (directory == NULL) fail("the trace accesses files: give their directory with scratch=DIR");
  const size_t begin = strlen(directory);
  char* const path = checked(malloc(begin + (size_t)count + 2));
  memcpy(path, directory, begin);
  char* const place = path + begin;
  place[0] = '/';
  for (int64_t i = 0; i < count; i++) place[i + 1] = (char)name[i];
  place[count + 1] = '\0';
  for (char* found = place; (found = strstr(found, "/..")) != NULL; found++) {
    if (found[3] == '/' || found[3] == '\0') found[1] = found[2] = '_';
  }
  const uint64_t hash = hash_of(path);
  struct scratch_file** const bucket = &buckets[hash % BUCKETS];
  for (struct scratch_file* file = *bucket; file != NULL; file = file->same) {
    if (strcmp(file->path, path) != 0) continue;
    free(path);
    return file;
  }
  struct scratch_file* const file = checked(calloc(1, sizeof *file));
  *file = (struct scratch_file){path, NULL, false, -1, hash, all, *bucket};
  return all = *bucket = file;
}

void note_open(struct scratch_file* file, bool creates, int64_t size) {
  const bool is_first = !file->is_created && file->needed < 0;
  if (is_first && creates && size < 0) file->is_created = true;
  if (file->is_created) return;
  if (size > file->needed) file->needed = size;
  if (file->needed < 0) file->needed = 0;
}

void note_read(struct scratch_file* file, int64_t end) {
  if (!file->is_created && end > file->needed) file->needed = end;
}

void note_directory(struct scratch_file* file) {
  if (file->directory != NULL) return;
  const size_t size = strlen(file->path) + 16;
  file->directory = checked(malloc(size));
  snprintf(file->directory, size, "%s.%d", file->path, program.rank);
}

/* The executor's own file operations are not seen by recorders, which wrap the functions of the C
 * library. */
static void remove_path(const char* path) { syscall(SYS_unlinkat, AT_FDCWD, path, 0); }

static void remove_directory(const struct scratch_file* file) {
  if (file->directory != NULL) syscall(SYS_unlinkat, AT_FDCWD, file->directory, AT_REMOVEDIR);
}

static void make_directories(char* path) {
  for (char* slash = path + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
    *slash = '\0';
    syscall(SYS_mkdirat, AT_FDCWD, path, 0777);
    *slash = '/';
  }
}

static void write_file(const struct scratch_file* file) {
  static char* zeros;
  if (zeros == NULL) zeros = checked(calloc(1, BLOCK));
  const int made = (int)syscall(SYS_openat, AT_FDCWD, file->path, O_WRONLY | O_CREAT, 0666);
  if (made < 0) fail("%s: %s", file->path, strerror(errno));
  struct stat status;
  int64_t at = fstat(made, &status) == 0 ? (int64_t)status.st_size : 0;
  while (at < file->needed) {
    const int64_t left = file->needed - at;
    const long written =
        syscall(SYS_pwrite64, made, zeros, (size_t)(left < BLOCK ? left : BLOCK), at);
    if (written <= 0) fail("%s: %s", file->path, strerror(errno));
    at += written;
  }
  syscall(SYS_close, made);
}

static int compare(const void* first, const void* second) {
  const uint64_t a = *(const uint64_t*)first, b = *(const uint64_t*)second;
  return (a > b) - (a < b);
}

/* Determines the files that other ranks create. */
static void exchange_created(void) {
  int own = 0, total = 0;
  for (const struct scratch_file* file = all; file != NULL; file = file->next)
    own += file->is_created;
  uint64_t* const hashes = checked(malloc((size_t)(own + 1) * sizeof *hashes));
  int* const counts = checked(malloc(2 * (size_t)program.ranks * sizeof *counts));
  int* const places = counts + program.ranks;
  own = 0;
  for (const struct scratch_file* file = all; file != NULL; file = file->next)
    if (file->is_created) hashes[own++] = file->hash;
  PMPI_Allgather(&own, 1, MPI_INT, counts, 1, MPI_INT, program.control);
  for (int rank = 0; rank < program.ranks; rank++) {
    places[rank] = total;
    total += counts[rank];
  }
  created = checked(malloc((size_t)(total + 1) * sizeof *created));
  PMPI_Allgatherv(hashes, own, MPI_UINT64_T, created, counts, places, MPI_UINT64_T,
                  program.control);
  qsort(created, (size_t)total, sizeof *created, compare);
  created_count = total;
  free(hashes);
  free(counts);
}

static bool is_created_by_any(const struct scratch_file* file) {
  return bsearch(&file->hash, created, (size_t)created_count, sizeof *created, compare) != NULL;
}

void prepare_files(void) {
  if (program.options.scratch == NULL) return;
  if (created_count < 0) exchange_created();
  for (struct scratch_file* file = all; file != NULL; file = file->next) {
    make_directories(file->path);
    remove_directory(file);
    if (file->is_created) remove_path(file->path);
  }
  PMPI_Barrier(program.control);
  for (const struct scratch_file* file = all; file != NULL; file = file->next)
    if (file->needed >= 0 && !is_created_by_any(file)) write_file(file);
  PMPI_Barrier(program.control);
}

void remove_files(void) {
  for (const struct scratch_file* file = all; file != NULL; file = file->next) {
    remove_directory(file);
    remove_path(file->path);
  }
}
