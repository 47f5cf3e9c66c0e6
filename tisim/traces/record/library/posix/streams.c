/* Standard I/O: what its buffers read and write.
 *
 * The C library reads and writes by functions that no other library can define. So a stream is
 * looked at after the calls that may have gone beyond its buffer: by how much the position of its
 * descriptor has moved is what was read or written. What a call that was taken for one inside the
 * buffer has moved belongs to the next. */
#include <stdint.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

#include "posix.h"

static struct tisim_open_file *file_of(FILE *stream) {
  struct tisim_open_file *const file = tisim_file_of(fileno(stream));
  return file == NULL || file->stream != stream ? NULL : file;
}

bool tisim_is_stream(FILE *stream) { return file_of(stream) != NULL; }

/* Bytes in the buffer that are not read yet. */
static size_t available(const FILE *stream) {
#ifdef __GLIBC__
  return (size_t)(stream->_IO_read_end - stream->_IO_read_ptr);
#else
  (void)stream;
  return 0;
#endif
}

/* Bytes in the buffer, read or not. */
static off_t buffered(const FILE *stream) {
#ifdef __GLIBC__
  return stream->_IO_read_end - stream->_IO_read_base;
#else
  (void)stream;
  return 0;
#endif
}

bool tisim_may_read(FILE *stream, size_t bytes) {
  return tisim_is_stream(stream) && bytes > available(stream);
}

bool tisim_may_read_until(FILE *stream, int delimiter, size_t bytes) {
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

bool tisim_may_write(FILE *stream, size_t bytes) {
  if (!tisim_is_stream(stream)) return false;
  return __flbf(stream) != 0 || __fpending(stream) + bytes >= __fbufsize(stream);
}

/* The flags of open for a mode of fopen. */
static int flags_of(const char *mode) {
  const bool is_update = strchr(mode, '+') != NULL;
  const int only = mode[0] == 'r' ? O_RDONLY : O_WRONLY;
  int flags = is_update ? O_RDWR : only;
  if (mode[0] == 'w') flags |= O_CREAT | O_TRUNC;
  if (mode[0] == 'a') flags |= O_CREAT | O_APPEND;
  if (mode[0] != 'r' && strchr(mode, 'x') != NULL) flags |= O_EXCL;
  return flags;
}

void tisim_after_fopen(const char *path, const char *mode, FILE *stream) {
  if (stream == NULL) return;
  tisim_after_open(AT_FDCWD, path, flags_of(mode), fileno(stream));
  tisim_after_fdopen(fileno(stream), stream);
}

void tisim_after_fdopen(int descriptor, FILE *stream) {
  struct tisim_open_file *const file = tisim_file_of(descriptor);
  if (file == NULL || stream == NULL) return;
  file->stream = stream;
  file->position = lseek(descriptor, 0, SEEK_CUR);
}

/* Writes a transfer of the stream, whose position has gone from the one to the other. */
static void move(struct tisim_open_file *file, bool writes, off_t position) {
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

static void look_at(struct tisim_open_file *file) {
  const off_t position = lseek(fileno(file->stream), 0, SEEK_CUR);
  if (position >= 0 && position != file->position) {
    move(file, __freading(file->stream) == 0, position);
  }
}

void tisim_after_stream(FILE *stream) {
  if (stream != NULL) {
    look_at(file_of(stream));
    return;
  }
  for (int i = 0; i < tisim_end_of_descriptors(); ++i) {
    struct tisim_open_file *const file = tisim_file_of(i);
    if (file != NULL && file->stream != NULL && fileno(file->stream) == i) look_at(file);
  }
}

void tisim_before_fclose(FILE *stream) {
  struct tisim_open_file *const file = file_of(stream);
  if (file == NULL) return;
  look_at(file);
  const off_t pending = (off_t)__fpending(stream);
  if (pending > 0) move(file, true, file->position + pending);
  file->stream = NULL;
  tisim_before_close(fileno(stream));
}

void tisim_after_fclose(void) { tisim_after_close(); }

void tisim_before_fseek(FILE *stream) {
  struct tisim_open_file *const file = file_of(stream);
  look_at(file);
  const off_t pending = (off_t)__fpending(stream);
  if (pending > 0) move(file, true, file->position + pending);
}

/* A seek may go to the beginning of a block and read it. */
void tisim_after_fseek(FILE *stream) {
  struct tisim_open_file *const file = file_of(stream);
  const off_t position = lseek(fileno(stream), 0, SEEK_CUR);
  if (position < 0 || position == file->position) return;
  const off_t read = __freading(stream) != 0 ? buffered(stream) : 0;
  tisim_write_file(TISIM_lseek, file, position - read);
  if (read > 0) tisim_write_file(TISIM_read, file, read);
  file->position = position;
}
