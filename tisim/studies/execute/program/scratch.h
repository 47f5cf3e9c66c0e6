/* The directory in which the files of the trace lie, and what is in it before a repetition. */
#ifndef TISIM_SCRATCH_H
#define TISIM_SCRATCH_H

#include <stdbool.h>
#include <stdint.h>

struct scratch_file {
  char* path;
  char* directory;           /* that the trace makes; another one, as files may need `path` */
  bool is_created;           /* by the trace */
  int64_t needed;            /* bytes that are there before */
  uint64_t hash;             /* of the path */
  struct scratch_file* next; /* of all */
  struct scratch_file* same; /* with the same hash, nearly */
};

/* The file of a name in the trace, whose bytes stand one in each number. */
struct scratch_file* scratch_file_of(const int64_t* name, int64_t count);
/* While the script is rehearsed: the file is opened; it has so many bytes, -1: not known. */
void note_open(struct scratch_file* file, bool creates, int64_t size);
void note_read(struct scratch_file* file, int64_t end);
void note_directory(struct scratch_file* file);

/* Removes what the trace creates, and writes what it only reads. All ranks call this. */
void prepare_files(void);
/* At the end of the program. */
void remove_files(void);

#endif
