/* File accesses through POSIX: descriptors and streams of regular files. */
#include "posix.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The descriptors of regular files that the program has opened. */

#define MOST_DESCRIPTORS 65536 /* higher descriptors are not recorded */
#define LONGEST_LINE 8448

static struct tisim_open_file* files[MOST_DESCRIPTORS];
static int end_of_descriptors;          /* greater than any ever in use */
static struct tisim_open_file* closing; /* its last descriptor is being closed */
static struct timespec start_of_program;
static bool is_forked; /* this process was forked by a rank */

static void begin_in_child(void) { is_forked = true; }

__attribute__((constructor)) static void begin_program(void) {
  clock_gettime(CLOCK_REALTIME_COARSE, &start_of_program); /* the clock of file timestamps */
  pthread_atfork(NULL, NULL, begin_in_child);
}

bool tisim_enter_posix(const char* function, const void* caller) {
  if (is_forked) return false;
  return tisim_enter_nested_posix() ||
         (tisim_is_recorded_thread() && tisim_enter(function, caller));
}

struct tisim_open_file* tisim_file_of(int descriptor) {
  return descriptor < 0 || descriptor >= MOST_DESCRIPTORS ? NULL : files[descriptor];
}

int tisim_end_of_descriptors(void) { return end_of_descriptors; }

static void put(int descriptor, struct tisim_open_file* file) {
  files[descriptor] = file;
  if (end_of_descriptors <= descriptor) end_of_descriptors = descriptor + 1;
}

bool tisim_has_mode(int flags) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

static enum tisim_layer layer_at_hand(void) {
  return tisim_is_nested_posix() ? TISIM_LAYER_POSIX : TISIM_ALL_LAYERS;
}

/* The fields of a call on the file other than its numbers. */
static struct tisim_named on_file(const struct tisim_open_file* file) {
  struct tisim_named named = tisim_on(0);
  named.layer = file->layer;
  return named;
}

static void put_flags(char* text, int flags) {
  const int access = flags & O_ACCMODE;
  char* end = text;
  if (access != O_WRONLY) *end++ = 'r';
  if (access != O_RDONLY) *end++ = 'w';
  if ((flags & O_CREAT) != 0) *end++ = 'c';
  if ((flags & O_TRUNC) != 0) *end++ = 't';
  if ((flags & O_APPEND) != 0 && access != O_RDONLY) *end++ = 'a';
  if ((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) *end++ = 'x';
  *end = '\0';
}

/* Returns the size of a file that existed before the program; -1 if empty or created by it. */
static int64_t size_before(const struct stat* found, int flags) {
  const bool is_ours = found->st_ctim.tv_sec > start_of_program.tv_sec ||
                       (found->st_ctim.tv_sec == start_of_program.tv_sec &&
                        found->st_ctim.tv_nsec >= start_of_program.tv_nsec);
  return is_ours || found->st_size == 0 || (flags & O_TRUNC) != 0 ? -1 : found->st_size;
}

void tisim_after_open(int directory, const char* path, int flags, int descriptor) {
  if (descriptor < 0 || descriptor >= MOST_DESCRIPTORS || files[descriptor] != NULL) return;
  struct stat found;
  if (fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) return;
  const char* const name = tisim_name_of_file(directory, path, true);
  if (name == NULL || strlen(name) + 16 > LONGEST_LINE) return;
  struct tisim_open_file* const file = calloc(1, sizeof *file);
  if (file == NULL) return;
  char text[LONGEST_LINE];
  strcpy(text, name);
  strcat(text, " ");
  put_flags(text + strlen(text), flags);
  file->handle = tisim_take_handle();
  file->descriptors = 1;
  file->appends = (flags & O_APPEND) != 0;
  file->end = found.st_size;
  file->layer = layer_at_hand();
  put(descriptor, file);
  struct tisim_named named = on_file(file);
  named.text = text;
  named.size = size_before(&found, flags);
  tisim_write(TISIM_open, &file->handle, 1, &named, true);
}

void tisim_before_close(int descriptor) {
  closing = tisim_file_of(descriptor);
  if (closing == NULL) return;
  files[descriptor] = NULL;
  if (--closing->descriptors != 0) closing = NULL;
}

void tisim_after_close(void) {
  if (closing == NULL) return;
  const struct tisim_named named = on_file(closing);
  tisim_write(TISIM_close, &closing->handle, 1, &named, true);
  tisim_free_handle(closing->handle);
  free(closing);
  closing = NULL;
}

void tisim_forget(int descriptor) {
  if (tisim_is_open(descriptor)) files[descriptor] = NULL;
}

void tisim_after_copy(int descriptor, int copy) {
  struct tisim_open_file* const file = tisim_file_of(descriptor);
  if (file == NULL || copy < 0 || copy >= MOST_DESCRIPTORS || files[copy] != NULL) return;
  ++file->descriptors;
  put(copy, file);
}

void tisim_write_file(enum tisim_word word, const struct tisim_open_file* file, int64_t bytes) {
  const int64_t numbers[] = {file->handle, bytes};
  const struct tisim_named named = on_file(file);
  tisim_write(word, numbers, 2, &named, false);
}

void tisim_after_transfer(enum tisim_word word, int descriptor, ssize_t bytes) {
  if (bytes <= 0) return;
  struct tisim_open_file* const file = tisim_file_of(descriptor);
  file->position += bytes;
  tisim_write_file(word, file, bytes);
}

void tisim_after_transfer_at(enum tisim_word word, int descriptor, ssize_t bytes, off_t offset) {
  if (bytes <= 0) return;
  const struct tisim_open_file* const file = tisim_file_of(descriptor);
  const int64_t numbers[] = {file->handle, bytes, offset};
  const struct tisim_named named = on_file(file);
  tisim_write(word, numbers, 3, &named, false);
}

void tisim_after_lseek(int descriptor, off_t offset, int from, off_t position) {
  if (position < 0) return;
  struct tisim_open_file* const file = tisim_file_of(descriptor);
  file->position = position;
  struct tisim_named named = on_file(file);
  if (from == SEEK_CUR) named.text = "cur";
  const int64_t numbers[] = {file->handle, from == SEEK_CUR ? offset : position};
  tisim_write(TISIM_lseek, numbers, 2, &named, false);
}

void tisim_after_fsync(int descriptor, int error) {
  if (error != 0) return;
  const struct tisim_open_file* const file = tisim_file_of(descriptor);
  const struct tisim_named named = on_file(file);
  tisim_write(TISIM_fsync, &file->handle, 1, &named, false);
}

void tisim_after_name(enum tisim_word word, int directory, const char* path, int error) {
  const char* const name = error == 0 ? tisim_name_of_file(directory, path, true) : NULL;
  if (name == NULL) return;
  struct tisim_named named = tisim_on(0);
  named.text = name;
  named.layer = layer_at_hand();
  tisim_write(word, NULL, 0, &named, false);
}

/* Standard I/O: the reads and writes of its buffers.
 *
 * The C library reads and writes through functions that no other library can replace. So a stream
 * is examined after calls that may have gone beyond its buffer: the change of its descriptor's
 * position is the amount read or written. Data moved by a call that was expected to stay inside the
 * buffer is attributed to the next call. */

static struct tisim_open_file* file_of(FILE* stream) {
  struct tisim_open_file* const file = tisim_file_of(fileno(stream));
  return file == NULL || file->stream != stream ? NULL : file;
}

bool tisim_is_stream(FILE* stream) { return file_of(stream) != NULL; }

/* Returns the number of unread bytes in the buffer. */
static size_t available(const FILE* stream) {
#ifdef __GLIBC__
  return (size_t)(stream->_IO_read_end - stream->_IO_read_ptr);
#else
  (void)stream;
  return 0;
#endif
}

/* Returns the number of bytes in the buffer, read or not. */
static off_t buffered(const FILE* stream) {
#ifdef __GLIBC__
  return stream->_IO_read_end - stream->_IO_read_base;
#else
  (void)stream;
  return 0;
#endif
}

bool tisim_may_read(FILE* stream, size_t bytes) {
  return tisim_is_stream(stream) && bytes > available(stream);
}

bool tisim_may_read_until(FILE* stream, int delimiter, size_t bytes) {
  if (!tisim_is_stream(stream)) return false;
#ifdef __GLIBC__
  const size_t room = available(stream) < bytes ? available(stream) : bytes;
  if (room == bytes || memchr(stream->_IO_read_ptr, delimiter, room) != NULL) return false;
#else
  (void)delimiter;
  (void)bytes;
#endif
  return true;
}

bool tisim_may_write(FILE* stream, size_t bytes) {
  if (!tisim_is_stream(stream)) return false;
  return __flbf(stream) != 0 || __fpending(stream) + bytes >= __fbufsize(stream);
}

/* Returns the flags of open for a mode of fopen. */
static int flags_of(const char* mode) {
  const bool is_update = strchr(mode, '+') != NULL;
  const int only = mode[0] == 'r' ? O_RDONLY : O_WRONLY;
  int flags = is_update ? O_RDWR : only;
  if (mode[0] == 'w') flags |= O_CREAT | O_TRUNC;
  if (mode[0] == 'a') flags |= O_CREAT | O_APPEND;
  if (mode[0] != 'r' && strchr(mode, 'x') != NULL) flags |= O_EXCL;
  return flags;
}

void tisim_after_fopen(const char* path, const char* mode, FILE* stream) {
  if (stream == NULL) return;
  tisim_after_open(AT_FDCWD, path, flags_of(mode), fileno(stream));
  tisim_after_fdopen(fileno(stream), stream);
}

void tisim_after_fdopen(int descriptor, FILE* stream) {
  struct tisim_open_file* const file = tisim_file_of(descriptor);
  if (file == NULL || stream == NULL) return;
  file->stream = stream;
  file->position = lseek(descriptor, 0, SEEK_CUR);
}

/* Writes a transfer that moved the stream's position from its last known value to `position`. */
static void move(struct tisim_open_file* file, bool writes, off_t position) {
  off_t before = file->position;
  if (writes && file->appends && before < file->end) before = file->end;
  if (position > before) {
    tisim_write_file(writes ? TISIM_write : TISIM_read, file, position - before);
  } else if (position < before) {
    tisim_write_file(TISIM_lseek, file, position);
  }
  file->position = position;
  if (file->end < position) file->end = position;
}

static void look_at(struct tisim_open_file* file) {
  const off_t position = lseek(fileno(file->stream), 0, SEEK_CUR);
  if (position >= 0 && position != file->position) {
    move(file, __freading(file->stream) == 0, position);
  }
}

void tisim_after_stream(FILE* stream) {
  if (stream != NULL) {
    look_at(file_of(stream));
    return;
  }
  for (int i = 0; i < tisim_end_of_descriptors(); ++i) {
    struct tisim_open_file* const file = tisim_file_of(i);
    if (file != NULL && file->stream != NULL && fileno(file->stream) == i) look_at(file);
  }
}

void tisim_before_fclose(FILE* stream) {
  struct tisim_open_file* const file = file_of(stream);
  if (file == NULL) return;
  look_at(file);
  const off_t pending = (off_t)__fpending(stream);
  if (pending > 0) move(file, true, file->position + pending);
  file->stream = NULL;
  tisim_before_close(fileno(stream));
}

void tisim_after_fclose(void) { tisim_after_close(); }

void tisim_before_fseek(FILE* stream) {
  struct tisim_open_file* const file = file_of(stream);
  look_at(file);
  const off_t pending = (off_t)__fpending(stream);
  if (pending > 0) move(file, true, file->position + pending);
}

/* A seek may move to the beginning of a block and read it. */
void tisim_after_fseek(FILE* stream) {
  struct tisim_open_file* const file = file_of(stream);
  const off_t position = lseek(fileno(stream), 0, SEEK_CUR);
  if (position < 0 || position == file->position) return;
  const off_t read = __freading(stream) != 0 ? buffered(stream) : 0;
  tisim_write_file(TISIM_lseek, file, position - read);
  if (read > 0) tisim_write_file(TISIM_read, file, read);
  file->position = position;
}
