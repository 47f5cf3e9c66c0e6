/* The file accesses of the trace: the calls of POSIX and of MPI-IO, on real files. */
#ifndef TISIM_FILES_H
#define TISIM_FILES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scratch.h"
#include "script.h"

/* A file that the trace has open, by its number there. */
struct handle {
  int number; /* -1: none */
  bool is_mpi;
  int file;         /* of POSIX */
  MPI_File mpi;     /* of MPI-IO */
  int64_t position; /* in the rehearsal */
  /* The view: where it begins, and how many bytes it shows of how many. 0: it shows all. */
  int64_t displacement, shown, distance;
  /* The split collective call that is under way. */
  void* room;
  const void* data;
  int64_t bytes;
  struct scratch_file* of;
};

void call_file(const struct instruction* instruction);
/* The requests and files that the trace has left open at the end of a repetition. */
void close_files(void);

/* The handle's view from here on. */
void note_view(const struct instruction* instruction, struct handle* handle);

/* mpi_files.c */
void call_mpi_file(const struct instruction* instruction, struct handle* handle);
void open_mpi_file(const struct instruction* instruction, struct handle* handle,
                   const char* letters, size_t count);

#endif
