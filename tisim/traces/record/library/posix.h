/* File accesses through POSIX: descriptors and streams of regular files, and names.
 *
 * All functions but those that only look are called between tisim_enter and tisim_leave. */
#ifndef TISIM_POSIX_H
#define TISIM_POSIX_H

#include <stdio.h>
#include <sys/types.h>

#include "fortran.h"
#include "record.h"

/* A formatted read or write of more bytes may be found late. */
#define TISIM_MOST_FORMATTED 512

/* A file that the program has opened while it was recorded. */
struct tisim_open_file {
  int64_t handle;
  int descriptors; /* that stand for it */
  bool appends;
  enum tisim_layer layer; /* POSIX: a function of MPI-IO has opened it */
  FILE* stream;           /* NULL: none */
  off_t position;         /* of the stream, up to which transfers are written */
  off_t end;              /* of the file, where it appends */
};

/* True if this call of the program is recorded; then as tisim_enter. */
bool tisim_enter_posix(const char* function, const void* caller);

/* The file of a descriptor; NULL: it is not recorded. */
struct tisim_open_file* tisim_file_of(int descriptor);
static inline bool tisim_is_open(int descriptor) { return tisim_file_of(descriptor) != NULL; }
/* Greater than any that stands for a file. */
int tisim_end_of_descriptors(void);
/* True if open's flags imply a mode. */
bool tisim_has_mode(int flags);
void tisim_after_open(int directory, const char* path, int flags, int descriptor);
/* The first function takes the descriptor away, since another thread may get its number next. */
void tisim_before_close(int descriptor);
void tisim_after_close(void);
/* Another thread closes it: its handle stays open in the trace. */
void tisim_forget(int descriptor);
void tisim_after_copy(int descriptor, int copy);
void tisim_after_transfer(enum tisim_word word, int descriptor, ssize_t bytes);
void tisim_after_transfer_at(enum tisim_word word, int descriptor, ssize_t bytes, off_t offset);
void tisim_after_lseek(int descriptor, off_t offset, int from, off_t position);
void tisim_after_fsync(int descriptor, int error);
/* An action on a name, unless the call has failed. */
void tisim_after_name(enum tisim_word word, int directory, const char* path, int error);
void tisim_write_file(enum tisim_word word, const struct tisim_open_file* file, int64_t bytes);

/* Streams. */
bool tisim_is_stream(FILE* stream);
/* True if a call for so many bytes may go beyond the buffer. */
bool tisim_may_read(FILE* stream, size_t bytes);
bool tisim_may_read_until(FILE* stream, int delimiter, size_t bytes);
bool tisim_may_write(FILE* stream, size_t bytes);
void tisim_after_fopen(const char* path, const char* mode, FILE* stream);
void tisim_after_fdopen(int descriptor, FILE* stream);
void tisim_before_fclose(FILE* stream);
void tisim_after_fclose(void);
/* The bytes that the stream has read or written since the last call; NULL: all streams. */
void tisim_after_stream(FILE* stream);
void tisim_before_fseek(FILE* stream);
void tisim_after_fseek(FILE* stream);

#endif
