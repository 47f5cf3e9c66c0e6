/* File accesses through POSIX: descriptors and streams of regular files, and file names.
 *
 * All functions except pure queries are called between tisim_enter and tisim_leave. */
#ifndef TISIM_POSIX_H
#define TISIM_POSIX_H

#include <stdio.h>
#include <sys/types.h>

#include "fortran.h"
#include "record.h"

/* Formatted transfers of more bytes may be attributed to a later call. */
#define TISIM_MOST_FORMATTED 512

/* A file that the program opened while being recorded. */
struct tisim_open_file {
  int64_t handle;
  int descriptors; /* number of its descriptors */
  bool appends;
  enum tisim_layer layer; /* POSIX: opened by an MPI-IO function */
  FILE* stream;           /* NULL: none */
  off_t position;         /* of the stream, up to which transfers have been written */
  off_t end;              /* of the file, for appending */
};

/* Returns true if this call of the program is recorded; then like tisim_enter. */
bool tisim_enter_posix(const char* function, const void* caller);

/* Returns the file of a descriptor; NULL if it is not recorded. */
struct tisim_open_file* tisim_file_of(int descriptor);
static inline bool tisim_is_open(int descriptor) { return tisim_file_of(descriptor) != NULL; }
/* Greater than any descriptor of a recorded file. */
int tisim_end_of_descriptors(void);
/* True if open's flags require a mode argument. */
bool tisim_has_mode(int flags);
void tisim_after_open(int directory, const char* path, int flags, int descriptor);
/* The first function releases the descriptor, since another thread may reuse its number next. */
void tisim_before_close(int descriptor);
void tisim_after_close(void);
/* Another thread closes it: its handle stays open in the trace. */
void tisim_forget(int descriptor);
void tisim_after_copy(int descriptor, int copy);
void tisim_after_transfer(enum tisim_word word, int descriptor, ssize_t bytes);
void tisim_after_transfer_at(enum tisim_word word, int descriptor, ssize_t bytes, off_t offset);
void tisim_after_lseek(int descriptor, off_t offset, int from, off_t position);
void tisim_after_fsync(int descriptor, int error);
/* Writes an action on a name, unless the call failed. */
void tisim_after_name(enum tisim_word word, int directory, const char* path, int error);
void tisim_write_file(enum tisim_word word, const struct tisim_open_file* file, int64_t bytes);

/* Streams. */
bool tisim_is_stream(FILE* stream);
/* Return true if a call for this many bytes may go beyond the buffer. */
bool tisim_may_read(FILE* stream, size_t bytes);
bool tisim_may_read_until(FILE* stream, int delimiter, size_t bytes);
bool tisim_may_write(FILE* stream, size_t bytes);
void tisim_after_fopen(const char* path, const char* mode, FILE* stream);
void tisim_after_fdopen(int descriptor, FILE* stream);
void tisim_before_fclose(FILE* stream);
void tisim_after_fclose(void);
/* Writes the bytes that the stream has transferred since the last call; NULL: all streams. */
void tisim_after_stream(FILE* stream);
void tisim_before_fseek(FILE* stream);
void tisim_after_fseek(FILE* stream);

#endif
