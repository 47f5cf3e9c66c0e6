/* Files: their numbers and names in the trace, the layout of views, and MPI-IO calls. */
#include <fcntl.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "numbers.h"
#include "record.h"

/* Numbers of open files. */

static struct tisim_numbers_in_use handles;

int64_t tisim_take_handle(void) { return tisim_take_number(&handles); }

void tisim_free_handle(int64_t handle) { tisim_release_number(&handles, handle); }

/* Names of files in a trace. */

#define LONGEST_NAME 4096
#define MOST_DIGITS 18
#define MOST_SERIES 1024

static bool begins_with(const char* text, const char* beginning) {
  return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool is_library(const char* path) {
  const char* const slash = strrchr(path, '/');
  for (const char* at = slash == NULL ? path : slash; (at = strstr(at, ".so")) != NULL; at += 3) {
    if (at[3] == '\0' || at[3] == '.') return true;
  }
  return false;
}

static bool is_left_out(const char* path) {
  return begins_with(path, "/proc/") || begins_with(path, "/sys/") || begins_with(path, "/dev/") ||
         is_library(path);
}

/* Returns true if a number in a name had another value before, at the same place of an otherwise
 * equal name: then it counts steps, and is not a rank even if it happens to equal one. */
static bool is_step(const char* name, const char* number, size_t digits) {
  static struct series {
    uint64_t key; /* of the name without the number */
    long long value;
    bool varies;
  } known[MOST_SERIES]; /* a later series replaces an earlier one with the same hash */
  uint64_t key = UINT64_C(0xCBF29CE484222325);
  for (const char* at = name; *at != '\0';) {
    const bool is_number = at == number;
    key = (key ^ (is_number ? 1 : (unsigned char)*at)) * UINT64_C(0x100000001B3);
    at += is_number ? digits : 1;
  }
  struct series* const series = &known[key % MOST_SERIES];
  const long long value = strtoll(number, NULL, 10);
  if (series->key != key) *series = (struct series){key, value, false};
  series->varies = series->varies || series->value != value;
  return series->varies;
}

/* Finds the last number in the file name that equals the rank: its beginning and end. */
static const char* rank_in(const char* name, int rank, const char** end) {
  const char* const slash = strrchr(name, '/');
  const char* const first = slash == NULL ? name : slash + 1;
  const char* found = NULL;
  for (const char* at = first; *at != '\0';) {
    const size_t digits = strspn(at, "0123456789");
    const bool is_number = digits != 0 && digits <= MOST_DIGITS;
    if (is_number && !is_step(name, at, digits) && strtoll(at, NULL, 10) == rank) {
      found = at;
      *end = at + digits;
    }
    at += digits == 0 ? 1 : digits;
  }
  return found;
}

/* Builds the path from the directory of a descriptor. */
static bool full_path(int directory, const char* path, char* name, size_t room) {
  size_t length = 0;
  if (path[0] != '/' && directory != AT_FDCWD) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    const ssize_t size = readlink(link, name, room - 1);
    if (size <= 0) return false;
    length = (size_t)size;
    if (length + 1 < room) name[length++] = '/';
  }
  if (length + strlen(path) >= room) return false;
  strcpy(name + length, path);
  return true;
}

/* Blanks end a word of a trace, # begins a comment, and braces mark numbers. */
static char allowed(char c) {
  const bool is_refused =
      (unsigned char)c <= ' ' || c == '\x7f' || c == '#' || c == '{' || c == '}';
  return is_refused ? '_' : c;
}

const char* tisim_name_of_file(int directory, const char* path, bool of_rank) {
  static char name[LONGEST_NAME];
  static char text[2 * LONGEST_NAME + 64];
  if (path == NULL || path[0] == '\0' || !full_path(directory, path, name, sizeof name) ||
      is_left_out(name)) {
    return NULL;
  }
  const struct tisim_comm* const world = tisim_comm_of(MPI_COMM_WORLD);
  const char* rank_end = NULL;
  const char* const rank =
      of_rank && world->size > 1 ? rank_in(name, world->rank, &rank_end) : NULL;
  char* end = text;
  for (const char* at = name; *at != '\0';) {
    if (at == rank) {
      const int digits = (int)(rank_end - rank);
      end += rank[0] == '0' && digits > 1 ? sprintf(end, "%%0%dd", digits) : sprintf(end, "%%d");
      at = rank_end;
      continue;
    }
    if (*at == '%') *end++ = '%';
    *end++ = allowed(*at++);
  }
  *end = '\0';
  return text;
}

/* The bytes of a view's type, if they are at regular distances. */

#define MOST_LEVELS 16
#define MOST_VIEW_NUMBERS (3 + 2 * MOST_LEVELS)

/* Blocks of `block` bytes, repeated at a distance on each level, innermost first. */
struct layout {
  int64_t first; /* byte of the first block */
  int64_t block;
  int levels;
  struct {
    int64_t count;
    int64_t distance;
  } level[MOST_LEVELS];
  int64_t extent;
};

/* Repeats the blocks of a layout `count` times. Blocks without gaps between them are merged. */
static bool repeat(struct layout* layout, int64_t count, int64_t distance) {
  if (count < 1) return false;
  if (count == 1) return true;
  if (layout->levels == 0 && distance == layout->block) {
    layout->block *= count;
    return true;
  }
  if (layout->levels > 0) {
    const int64_t inner =
        layout->level[layout->levels - 1].count * layout->level[layout->levels - 1].distance;
    if (distance == inner) {
      layout->level[layout->levels - 1].count *= count;
      return true;
    }
  }
  if (layout->levels == MOST_LEVELS || distance <= 0) return false;
  layout->level[layout->levels].count = count;
  layout->level[layout->levels].distance = distance;
  ++layout->levels;
  return true;
}

static bool repeat_vector(struct layout* layout, int64_t count, int64_t blocks, int64_t distance) {
  const int64_t extent = layout->extent;
  if (!repeat(layout, blocks, extent) || !repeat(layout, count, distance)) return false;
  layout->extent = (count - 1) * distance + blocks * extent;
  return true;
}

/* Repeats blocks of equal length at equal distances, as an indexed type may have. */
static bool repeat_indexed(struct layout* layout, int count, const int* lengths, bool is_one_length,
                           const int64_t* places) {
  if (count < 1) return false;
  const int64_t distance = count > 1 ? places[1] - places[0] : 0;
  for (int i = 1; i < count; ++i) {
    if (places[i] - places[i - 1] != distance) return false;
    if (!is_one_length && lengths[i] != lengths[0]) return false;
  }
  layout->first += places[0];
  const int64_t extent = layout->extent;
  if (!repeat_vector(layout, count, lengths[0], distance)) return false;
  layout->extent = places[count - 1] - places[0] + lengths[0] * extent;
  return true;
}

static bool repeat_subarray(struct layout* layout, const int* integers) {
  const int dimensions = integers[0];
  const int* const sizes = integers + 1;
  const int* const parts = sizes + dimensions;
  const int* const starts = parts + dimensions;
  const bool is_fortran = starts[dimensions] == MPI_ORDER_FORTRAN;
  int64_t distance = layout->extent;
  for (int i = 0; i < dimensions; ++i) {
    const int at = is_fortran ? i : dimensions - 1 - i;
    layout->first += starts[at] * distance;
    if (!repeat(layout, parts[at], distance)) return false;
    distance *= sizes[at];
  }
  layout->extent = distance;
  return true;
}

static void free_type(MPI_Datatype type) {
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = MPI_COMBINER_NAMED;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED) PMPI_Type_free(&type);
}

bool tisim_take_contents(MPI_Datatype type, struct tisim_contents* c) {
  *c = (struct tisim_contents){.combiner = MPI_COMBINER_NAMED};
  PMPI_Type_get_envelope(type, &c->integer_count, &c->address_count, &c->type_count, &c->combiner);
  if (c->combiner == MPI_COMBINER_NAMED) return false;
  c->integers = calloc((size_t)c->integer_count + 1, sizeof *c->integers);
  c->addresses = calloc((size_t)c->address_count + 1, sizeof *c->addresses);
  c->types = calloc((size_t)c->type_count + 1, sizeof *c->types);
  c->is_taken = c->integers != NULL && c->addresses != NULL && c->types != NULL &&
                PMPI_Type_get_contents(type, c->integer_count, c->address_count, c->type_count,
                                       c->integers, c->addresses, c->types) == MPI_SUCCESS;
  return c->is_taken;
}

void tisim_drop_contents(struct tisim_contents* c) {
  for (int i = 0; c->is_taken && i < c->type_count; ++i) free_type(c->types[i]);
  free(c->integers);
  free(c->addresses);
  free(c->types);
}

static bool combine(const struct tisim_contents* c, struct layout* layout) {
  const int* const n = c->integers;
  switch (c->combiner) {
    case MPI_COMBINER_DUP:
      return true;
    case MPI_COMBINER_CONTIGUOUS:
      return repeat_vector(layout, 1, n[0], 0);
    case MPI_COMBINER_VECTOR:
      return repeat_vector(layout, n[0], n[1], n[2] * layout->extent);
    case MPI_COMBINER_HVECTOR:
      return repeat_vector(layout, n[0], n[1], c->addresses[0]);
    case MPI_COMBINER_SUBARRAY:
      return repeat_subarray(layout, n);
    case MPI_COMBINER_RESIZED:
      layout->first -= c->addresses[0];
      layout->extent = c->addresses[1];
      return true;
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK: {
      const bool is_one_length =
          c->combiner == MPI_COMBINER_INDEXED_BLOCK || c->combiner == MPI_COMBINER_HINDEXED_BLOCK;
      const bool has_addresses =
          c->combiner == MPI_COMBINER_HINDEXED || c->combiner == MPI_COMBINER_HINDEXED_BLOCK;
      const int* const displacements = n + 1 + (is_one_length ? 1 : n[0]);
      int64_t* const places = calloc((size_t)(n[0] > 0 ? n[0] : 1), sizeof *places);
      if (places == NULL) return false;
      for (int i = 0; i < n[0]; ++i) {
        places[i] = has_addresses ? c->addresses[i] : displacements[i] * layout->extent;
      }
      const bool is_regular = repeat_indexed(layout, n[0], n + 1, is_one_length, places);
      free(places);
      return is_regular;
    }
    default:
      return false;
  }
}

/* Returns false if the blocks of the type are irregular. */
static bool layout_of(MPI_Datatype type, struct layout* layout) {
  struct tisim_contents c;
  const bool is_regular = tisim_take_contents(type, &c) && c.type_count == 1 &&
                          layout_of(c.types[0], layout) && combine(&c, layout);
  tisim_drop_contents(&c);
  if (c.combiner != MPI_COMBINER_NAMED) return is_regular;
  int size = 0;
  PMPI_Type_size(type, &size);
  *layout = (struct layout){.block = size, .extent = size};
  return size > 0;
}

static bool has_holes(const struct layout* layout) {
  return layout->levels > 0 || layout->block != layout->extent;
}

/* Writes the numbers of a file_set_view after its handle; returns their count. */
static size_t view_numbers(const struct layout* layout, int64_t displacement, int64_t* numbers) {
  size_t count = 0;
  int levels = layout->levels;
  /* The infinitely repeated part may begin like the last level. */
  if (levels > 0 &&
      layout->extent == layout->level[levels - 1].count * layout->level[levels - 1].distance) {
    --levels;
  }
  numbers[count++] = displacement + layout->first;
  numbers[count++] = layout->block;
  for (int i = 0; i < levels; ++i) {
    numbers[count++] = layout->level[i].count;
    numbers[count++] = layout->level[i].distance;
  }
  numbers[count++] = levels < layout->levels ? layout->level[levels].distance : layout->extent;
  return count;
}

/* MPI-IO files.
 *
 * A trace has offsets in bytes of the file. Views map positions to offsets; the MPI library is
 * queried for the offset before each call. */

#define LONGEST_LINE 8448

struct file {
  MPI_File file;
  int64_t handle;
  int64_t comm;
  bool is_self;     /* on a communicator of this rank alone, which the trace does not know */
  int64_t position; /* position that the trace has reached */
  int64_t unit;     /* bytes of an element of the view */
  bool has_holes;   /* of the view: positions count only its visible bytes */
  struct file* next;
};

static struct file* files;
/* Start of the current call in elements of the view, or -1. */
static MPI_Offset first_element;
static bool has_offset;

static struct file* find(MPI_File file) {
  struct file* found = files;
  while (found != NULL && found->file != file) found = found->next;
  return found;
}

static struct file* file_of(MPI_File file) {
  struct file* const known = find(file);
  if (known == NULL) tisim_unsupported();
  return known;
}

int64_t tisim_number_of_file(MPI_File file) {
  const struct file* const known = find(file);
  return known == NULL ? -1 : known->handle;
}

static const struct {
  enum tisim_word alone; /* action of a single rank instead, if POSIX has one */
  bool is_collective;
} traits[] = {
#define TRAITS(name, roles, alone, is_collective) {TISIM_##alone, is_collective},
    TISIM_WORDS(TRAITS)
#undef TRAITS
};

/* `request`: number of the request that the call creates, -1 if none. */
static void write_posted(enum tisim_word word, const struct file* file, const int64_t* numbers,
                         size_t count, int64_t request) {
  const bool is_collective = traits[word].is_collective && !file->is_self;
  struct tisim_named named = tisim_on(is_collective ? file->comm : 0);
  named.request = request;
  named.layer = tisim_upper_layer();
  const bool always = word == TISIM_file_close;
  tisim_write(file->is_self ? traits[word].alone : word, numbers, count, &named, always);
}

static void write_call(enum tisim_word word, const struct file* file, const int64_t* numbers,
                       size_t count) {
  write_posted(word, file, numbers, count, -1);
}

/* Returns the size that all ranks find before one of them can write; -1 for a new file. */
static int64_t common_size(MPI_Comm comm, MPI_File file) {
  MPI_Offset size = 0;
  PMPI_File_get_size(file, &size);
  long long mine = (long long)size;
  long long least = mine;
  PMPI_Allreduce(&mine, &least, 1, MPI_LONG_LONG, MPI_MIN, comm);
  return least == 0 ? -1 : (int64_t)least;
}

/* MPI libraries accept a file system before the file name: `ufs:out`. */
static const char* without_file_system(const char* name) {
  const char* const colon = strchr(name, ':');
  const size_t letters = strspn(name, "abcdefghijklmnopqrstuvwxyz");
  return colon != NULL && letters >= 2 && name + letters == colon ? colon + 1 : name;
}

void tisim_after_file_open(MPI_Comm comm, const char* name, int mode, MPI_File opened) {
  if (!tisim_records_mpi_io()) {
    tisim_unsupported();
    return;
  }
  const struct tisim_comm* const on = tisim_comm_of(comm);
  if (on == NULL) return;
  char text[LONGEST_LINE];
  const char* const known = tisim_name_of_file(AT_FDCWD, without_file_system(name), on->size == 1);
  struct file* const file = known == NULL ? NULL : calloc(1, sizeof *file);
  if (file == NULL || strlen(known) + 16 > sizeof text) {
    free(file);
    tisim_unsupported();
    return;
  }
  strcpy(text, known);
  strcat(text, (mode & MPI_MODE_RDWR) != 0 ? " rw" : (mode & MPI_MODE_WRONLY) != 0 ? " w" : " r");
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
  named.layer = tisim_upper_layer();
  tisim_write(file->is_self ? TISIM_open : TISIM_file_open, &file->handle, 1, &named, true);
}

void tisim_before_file_close(MPI_File closed) {
  struct file* const file = file_of(closed);
  if (file == NULL) return;
  write_call(TISIM_file_close, file, &file->handle, 1);
  struct file** link = &files;
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

static int64_t bytes_of(MPI_Count count, MPI_Datatype type, const MPI_Status* status) {
  int64_t bytes = tisim_bytes(count, type);
  MPI_Count read = 0;
  if (status != NULL && PMPI_Get_elements_x(status, MPI_BYTE, &read) == MPI_SUCCESS &&
      read != MPI_UNDEFINED && read < bytes) {
    bytes = read;
  }
  return bytes;
}

/* Returns the offset of a transfer of `bytes` bytes, so that its end is exact even if a view leaves
 * holes in it. */
static int64_t place_of(const struct file* file, int64_t bytes) {
  if (file->has_holes) return first_element * file->unit;
  MPI_Offset begin = 0;
  MPI_Offset last = 0;
  const int64_t elements = bytes / file->unit;
  PMPI_File_get_byte_offset(file->file, first_element, &begin);
  if (elements == 0) return begin;
  PMPI_File_get_byte_offset(file->file, first_element + elements - 1, &last);
  return last + file->unit - bytes;
}

static void write_transfer(enum tisim_word word, struct file* file, MPI_Count count,
                           MPI_Datatype type, const MPI_Status* status, int64_t request) {
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
                               MPI_Datatype type, const MPI_Status* status) {
  struct file* const file = file_of(moved);
  if (file == NULL || first_element < 0) return;
  write_transfer(word, file, count, type, status, -1);
}

void tisim_after_file_post(enum tisim_word word, MPI_File moved, MPI_Count count, MPI_Datatype type,
                           MPI_Request request, const void* variable) {
  struct file* const file = file_of(moved);
  if (file == NULL || first_element < 0 || !tisim_is_active()) return;
  struct tisim_request* const made = tisim_request_add(request, variable);
  made->active = true;
  made->is_of_file = true;
  write_transfer(word, file, count, type, NULL, made->number);
}

void tisim_after_file_shared(enum tisim_word word, MPI_File moved, MPI_Count count,
                             MPI_Datatype type, const MPI_Status* status) {
  const struct file* const file = file_of(moved);
  if (file == NULL) return;
  const int64_t numbers[] = {file->handle, bytes_of(count, type, status)};
  write_call(word, file, numbers, 2);
}

void tisim_after_file_shared_post(enum tisim_word word, MPI_File moved, MPI_Count count,
                                  MPI_Datatype type, MPI_Request request, const void* variable) {
  const struct file* const file = file_of(moved);
  if (file == NULL || !tisim_is_active()) return;
  struct tisim_request* const made = tisim_request_add(request, variable);
  made->active = true;
  made->is_of_file = true;
  const int64_t numbers[] = {file->handle, bytes_of(count, type, NULL)};
  write_posted(word, file, numbers, 2, made->number);
}

/* Does not query the library for the position: another rank may have moved it. */
void tisim_after_file_seek_shared(MPI_File moved, MPI_Offset offset, int from) {
  const struct file* const file = file_of(moved);
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
  named.layer = tisim_upper_layer();
  tisim_write(TISIM_file_seek_shared, numbers, 2, &named, false);
}

void tisim_after_file_call(enum tisim_word word, MPI_File called) {
  const struct file* const file = file_of(called);
  if (file != NULL) write_call(word, file, &file->handle, 1);
}

/* The second step of a split call; on a single rank the first step did everything. */
void tisim_after_file_end(enum tisim_word word, MPI_File ended) {
  const struct file* const file = file_of(ended);
  if (file != NULL && !file->is_self) write_call(word, file, &file->handle, 1);
}

void tisim_after_file_size(enum tisim_word word, MPI_File resized, MPI_Offset bytes) {
  const struct file* const file = file_of(resized);
  if (file == NULL) return;
  if (file->is_self) {
    tisim_unsupported();
    return;
  }
  write_call(word, file, (const int64_t[]){file->handle, bytes}, 2);
}

void tisim_after_file_view(MPI_File viewed) {
  struct file* const file = file_of(viewed);
  if (file == NULL) return;
  MPI_Offset displacement = 0;
  MPI_Datatype element = MPI_BYTE;
  MPI_Datatype type = MPI_BYTE;
  char representation[MPI_MAX_DATAREP_STRING];
  int unit = 1;
  struct layout layout = {.levels = 0};
  bool is_known = true;
  if (PMPI_File_get_view(viewed, &displacement, &element, &type, representation) == MPI_SUCCESS) {
    PMPI_Type_size(element, &unit);
    is_known = layout_of(type, &layout);
    free_type(element);
    free_type(type);
  }
  const bool had_holes = file->has_holes;
  file->unit = unit > 0 ? unit : 1;
  file->has_holes = is_known && has_holes(&layout);
  if (!is_known || (file->has_holes && file->is_self)) {
    file->has_holes = false;
    tisim_unsupported();
    return;
  }
  if (file->has_holes || had_holes) file->position = 0;
  int64_t numbers[1 + MOST_VIEW_NUMBERS] = {file->handle};
  size_t count = 1;
  if (file->has_holes) count += view_numbers(&layout, displacement, numbers + 1);
  write_call(TISIM_file_set_view, file, numbers, count);
}
