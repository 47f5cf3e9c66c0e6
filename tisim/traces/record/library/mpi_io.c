/* Files of MPI-IO.
 *
 * A trace has offsets in bytes of the file. Views say where in the file a position is; the MPI
 * library is asked for it before each call. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "view_layout.h"

#define LONGEST_LINE 8448

struct file {
  MPI_File file;
  int64_t handle;
  int64_t comm;
  bool is_self;       /* of a communicator of this rank alone, which the trace does not know */
  int64_t position;   /* that the trace has reached */
  int64_t unit;       /* bytes of an element of the view */
  bool has_holes;     /* the view: positions count the bytes that it shows */
  struct file *next;
};

static struct file *files;
/* Of the call at hand: where it begins, in elements of the view, or -1. */
static MPI_Offset first_element;
static bool has_offset;

static struct file *file_of(MPI_File file) {
  struct file *found = files;
  while (found != NULL && found->file != file) found = found->next;
  if (found == NULL) tisim_unsupported();
  return found;
}

/* A rank alone does what POSIX has words for. */
static enum tisim_word alone(enum tisim_word word) {
  switch (word) {
    case TISIM_file_open:
      return TISIM_open;
    case TISIM_file_close:
      return TISIM_close;
    case TISIM_file_read_all:
    case TISIM_file_read_ordered:
      return TISIM_file_read;
    case TISIM_file_write_all:
    case TISIM_file_write_ordered:
      return TISIM_file_write;
    case TISIM_file_read_at_all:
      return TISIM_file_read_at;
    case TISIM_file_write_at_all:
      return TISIM_file_write_at;
    case TISIM_file_sync:
    case TISIM_file_set_view:
      return TISIM_fsync;
    case TISIM_file_read_all_begin:
    case TISIM_file_read_ordered_begin:
      return TISIM_file_read;
    case TISIM_file_write_all_begin:
    case TISIM_file_write_ordered_begin:
      return TISIM_file_write;
    case TISIM_file_read_at_all_begin:
      return TISIM_file_read_at;
    case TISIM_file_write_at_all_begin:
      return TISIM_file_write_at;
    default:
      return word;
  }
}

static bool synchronises(enum tisim_word word) {
  switch (word) {
    case TISIM_file_iread:
    case TISIM_file_iwrite:
    case TISIM_file_iread_at:
    case TISIM_file_iwrite_at:
    case TISIM_file_iread_all:
    case TISIM_file_iwrite_all:
    case TISIM_file_iread_at_all:
    case TISIM_file_iwrite_at_all:
    case TISIM_file_iread_shared:
    case TISIM_file_iwrite_shared:
    case TISIM_file_read:
    case TISIM_file_write:
    case TISIM_file_read_at:
    case TISIM_file_write_at:
    case TISIM_file_read_shared:
    case TISIM_file_write_shared:
    case TISIM_file_seek:
    case TISIM_file_read_all_end:
    case TISIM_file_write_all_end:
    case TISIM_file_read_at_all_end:
    case TISIM_file_write_at_all_end:
    case TISIM_file_read_ordered_end:
    case TISIM_file_write_ordered_end:
      return false;
    default:
      return true;
  }
}

/* `request`: the number of the one that the call makes, -1: none. */
static void write_posted(enum tisim_word word, const struct file *file, const int64_t *numbers,
                         size_t count, int64_t request) {
  const bool is_collective = synchronises(word) && !file->is_self;
  struct tisim_named named = tisim_on(is_collective ? file->comm : 0);
  named.request = request;
  const bool always = word == TISIM_file_close;
  tisim_write(file->is_self ? alone(word) : word, numbers, count, &named, always);
}

static void write_call(enum tisim_word word, const struct file *file, const int64_t *numbers,
                       size_t count) {
  write_posted(word, file, numbers, count, -1);
}

/* The length that all ranks find before one of them can write; -1: the file is new. */
static int64_t common_size(MPI_Comm comm, MPI_File file) {
  MPI_Offset size = 0;
  PMPI_File_get_size(file, &size);
  long long mine = (long long)size;
  long long least = mine;
  PMPI_Allreduce(&mine, &least, 1, MPI_LONG_LONG, MPI_MIN, comm);
  return least == 0 ? -1 : (int64_t)least;
}

/* MPI libraries name a file system before the file: `ufs:out`. */
static const char *without_file_system(const char *name) {
  const char *const colon = strchr(name, ':');
  const size_t letters = strspn(name, "abcdefghijklmnopqrstuvwxyz");
  return colon != NULL && letters >= 2 && name + letters == colon ? colon + 1 : name;
}

void tisim_after_file_open(MPI_Comm comm, const char *name, int mode, MPI_File opened) {
  if (!tisim_records_mpi_io()) {
    tisim_unsupported();
    return;
  }
  const struct tisim_comm *const on = tisim_comm_of(comm);
  if (on == NULL) return;
  char text[LONGEST_LINE];
  const char *const known =
      tisim_name_of_file(AT_FDCWD, without_file_system(name), on->size == 1);
  struct file *const file = known == NULL ? NULL : calloc(1, sizeof *file);
  if (file == NULL || strlen(known) + 16 > sizeof text) {
    free(file);
    tisim_unsupported();
    return;
  }
  strcpy(text, known);
  strcat(text, (mode & MPI_MODE_RDWR) != 0     ? " rw"
               : (mode & MPI_MODE_WRONLY) != 0 ? " w"
                                               : " r");
  if ((mode & MPI_MODE_CREATE) != 0) strcat(text, "c");
  if ((mode & MPI_MODE_EXCL) != 0) strcat(text, "x");
  *file = (struct file){.file = opened, .handle = tisim_take_handle(), .comm = on->number};
  file->is_self = on->is_self;
  file->unit = 1;
  file->next = files;
  files = file;
  struct tisim_named named = tisim_on(file->is_self ? 0 : on->number);
  named.text = text;
  named.size = common_size(comm, opened);
  tisim_write(file->is_self ? TISIM_open : TISIM_file_open, &file->handle, 1, &named, true);
}

void tisim_before_file_close(MPI_File closed) {
  struct file *const file = file_of(closed);
  if (file == NULL) return;
  write_call(TISIM_file_close, file, &file->handle, 1);
  struct file **link = &files;
  while (*link != file) link = &(*link)->next;
  *link = file->next;
  tisim_free_handle(file->handle);
  free(file);
}

void tisim_before_file_transfer(MPI_File file) {
  has_offset = false;
  if (PMPI_File_get_position(file, &first_element) != MPI_SUCCESS) first_element = -1;
}

void tisim_before_file_transfer_at(MPI_File file, MPI_Offset offset) {
  (void)file;
  has_offset = true;
  first_element = offset;
}

static int64_t bytes_of(MPI_Count count, MPI_Datatype type, const MPI_Status *status) {
  int64_t bytes = tisim_bytes(count, type);
  MPI_Count read = 0;
  if (status != NULL && PMPI_Get_elements_x(status, MPI_BYTE, &read) == MPI_SUCCESS &&
      read != MPI_UNDEFINED && read < bytes) {
    bytes = read;
  }
  return bytes;
}

/* Where in the file a part of so many bytes lies: so that it ends where it does, though a view may
 * leave holes in it. */
static int64_t place_of(const struct file *file, int64_t bytes) {
  if (file->has_holes) return first_element * file->unit;
  MPI_Offset begin = 0;
  MPI_Offset last = 0;
  const int64_t elements = bytes / file->unit;
  PMPI_File_get_byte_offset(file->file, first_element, &begin);
  if (elements == 0) return begin;
  PMPI_File_get_byte_offset(file->file, first_element + elements - 1, &last);
  return last + file->unit - bytes;
}

static void write_transfer(enum tisim_word word, struct file *file, MPI_Count count,
                           MPI_Datatype type, const MPI_Status *status, int64_t request) {
  const int64_t bytes = bytes_of(count, type, status);
  const int64_t place = place_of(file, bytes);
  const int64_t numbers[] = {file->handle, bytes, place};
  if (!has_offset) {
    if (place != file->position) {
      write_call(TISIM_file_seek, file, (const int64_t[]){file->handle, place}, 2);
    }
    file->position = place + bytes;
  }
  write_posted(word, file, numbers, has_offset ? 3 : 2, request);
}

void tisim_after_file_transfer(enum tisim_word word, MPI_File moved, MPI_Count count,
                               MPI_Datatype type, const MPI_Status *status) {
  struct file *const file = file_of(moved);
  if (file == NULL || first_element < 0) return;
  write_transfer(word, file, count, type, status, -1);
}

void tisim_after_file_post(enum tisim_word word, MPI_File moved, MPI_Count count,
                           MPI_Datatype type, MPI_Request request, const void *variable) {
  struct file *const file = file_of(moved);
  if (file == NULL || first_element < 0 || !tisim_is_active()) return;
  struct tisim_request *const made = tisim_request_add(request, variable);
  made->active = true;
  write_transfer(word, file, count, type, NULL, made->number);
}

void tisim_after_file_shared(enum tisim_word word, MPI_File moved, MPI_Count count,
                             MPI_Datatype type, const MPI_Status *status) {
  const struct file *const file = file_of(moved);
  if (file == NULL) return;
  const int64_t numbers[] = {file->handle, bytes_of(count, type, status)};
  write_call(word, file, numbers, 2);
}

void tisim_after_file_shared_post(enum tisim_word word, MPI_File moved, MPI_Count count,
                                  MPI_Datatype type, MPI_Request request, const void *variable) {
  const struct file *const file = file_of(moved);
  if (file == NULL || !tisim_is_active()) return;
  struct tisim_request *const made = tisim_request_add(request, variable);
  made->active = true;
  const int64_t numbers[] = {file->handle, bytes_of(count, type, NULL)};
  write_posted(word, file, numbers, 2, made->number);
}

/* The library is not asked for the position: another rank may have moved it on. */
void tisim_after_file_seek_shared(MPI_File moved, MPI_Offset offset, int from) {
  const struct file *const file = file_of(moved);
  if (file == NULL) return;
  MPI_Offset place = 0;
  if (file->has_holes) {
    place = offset * file->unit;
    if (from == MPI_SEEK_END) {
      tisim_unsupported();
      return;
    }
  } else if (from == MPI_SEEK_SET) {
    PMPI_File_get_byte_offset(moved, offset, &place);
  } else {
    if (from == MPI_SEEK_END) PMPI_File_get_size(moved, &place);
    place += offset * file->unit;
  }
  const int64_t numbers[] = {file->handle, place};
  struct tisim_named named = tisim_on(file->is_self ? 0 : file->comm);
  if (from == MPI_SEEK_CUR) named.text = "cur";
  tisim_write(TISIM_file_seek_shared, numbers, 2, &named, false);
}

void tisim_after_file_call(enum tisim_word word, MPI_File called) {
  const struct file *const file = file_of(called);
  if (file != NULL) write_call(word, file, &file->handle, 1);
}

/* The second step of a call: to a rank alone, all was done in the first. */
void tisim_after_file_end(enum tisim_word word, MPI_File ended) {
  const struct file *const file = file_of(ended);
  if (file != NULL && !file->is_self) write_call(word, file, &file->handle, 1);
}

void tisim_after_file_size(enum tisim_word word, MPI_File resized, MPI_Offset bytes) {
  const struct file *const file = file_of(resized);
  if (file == NULL) return;
  if (file->is_self) {
    tisim_unsupported();
    return;
  }
  write_call(word, file, (const int64_t[]){file->handle, bytes}, 2);
}

static void free_type(MPI_Datatype type) {
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = MPI_COMBINER_NAMED;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED) PMPI_Type_free(&type);
}

void tisim_after_file_view(MPI_File viewed) {
  struct file *const file = file_of(viewed);
  if (file == NULL) return;
  MPI_Offset displacement = 0;
  MPI_Datatype element = MPI_BYTE;
  MPI_Datatype type = MPI_BYTE;
  char representation[MPI_MAX_DATAREP_STRING];
  int unit = 1;
  struct tisim_layout layout = {.levels = 0};
  bool is_known = true;
  if (PMPI_File_get_view(viewed, &displacement, &element, &type, representation) == MPI_SUCCESS) {
    PMPI_Type_size(element, &unit);
    is_known = tisim_layout_of(type, &layout);
    free_type(element);
    free_type(type);
  }
  const bool had_holes = file->has_holes;
  file->unit = unit > 0 ? unit : 1;
  file->has_holes = is_known && tisim_has_holes(&layout);
  if (!is_known || (file->has_holes && file->is_self)) {
    file->has_holes = false;
    tisim_unsupported();
    return;
  }
  if (file->has_holes || had_holes) file->position = 0;
  int64_t numbers[1 + TISIM_MOST_VIEW_NUMBERS] = {file->handle};
  size_t count = 1;
  if (file->has_holes) count += tisim_view_numbers(&layout, displacement, numbers + 1);
  write_call(TISIM_file_set_view, file, numbers, count);
}
