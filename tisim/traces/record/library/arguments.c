/* Arguments of MPI calls. To make the texts of all ranks alike, peers are relative to the own rank:
 * to that in the world, "{rank+1}", if the communicator has the world's numbers, and in statuses,
 * since a wait does not know their communicator; otherwise to that in the communicator, "{+1}". A
 * buffer is an offset in an allocated block, "heap0+8"; other buffers have a number for their
 * address. Both are numbered by first use. Values that the line contains (requests, new
 * communicators, windows and files) are placeholders: "{}", "{comm}", "{handle}" and "{group}".
 *
 * Calls without a line in the trace are deferred until the next line, with these numbers in their
 * texts, and with absolute peers in communicators with other numbers. Coordinates in grids are
 * relative to the own ones, "{grid 4 2 +0 +1}", after the dimensions. */
#include "arguments.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

#define LONGEST_TEXT (65536 - 64)
#define DEEPEST_TYPE 16
/* Maximum bytes of the calls since the last line: capacity of their texts, split between calls. */
#define MOST_DEFERRED ((TISIM_MOST_TEXTS / 2) * LONGEST_TEXT)

static bool is_enabled;
static bool has_returned;
static const char* function; /* NULL: none */
static const char* parameters;
static const void* const* values;
static char text[LONGEST_TEXT];
static size_t length;

/* The calls since the last line, concatenated, each terminated by the symbol for a record
 * separator; "3 x " precedes one that was made three times in a row. */
#define SEPARATOR "\xE2\x90\x9E"
#define SEPARATOR_LENGTH (sizeof SEPARATOR - 1)
static char* deferred;
static size_t deferred_length;
static size_t deferred_capacity;
static size_t last_deferred; /* offset of the last one */
static uint64_t repeated;    /* its number of repetitions */
static uint64_t dropped;     /* calls dropped for lack of room */
static bool is_deferred;     /* the current call has no line */

void tisim_begin_arguments(void) { is_enabled = true; }

bool tisim_wants_arguments(void) { return is_enabled; }

void tisim_describe(const char* name, const char* its_parameters, const void* const* its_values) {
  function = its_values == NULL ? NULL : name;
  parameters = its_parameters;
  values = its_values;
  has_returned = false;
}

void tisim_returned(void) { has_returned = true; }

void tisim_defer_freeing_call(void) {
  has_returned = true;
  tisim_defer_call();
}

void tisim_forget_call(void) { function = NULL; }

static void add(const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int more = vsnprintf(text + length, sizeof text - length, format, list);
  va_end(list);
  if (more > 0) length += (size_t)more;
  if (length >= sizeof text) length = sizeof text - 1;
}

/* Buffers */

struct buffer {
  const void* address; /* NULL: free */
  int64_t number;
};
static struct buffer* buffers; /* a hash table */
static size_t room;
static size_t known;

static struct buffer* place_of(struct buffer* table, size_t size, const void* address) {
  size_t place = (size_t)(((uintptr_t)address * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & (size - 1);
  while (table[place].address != NULL && table[place].address != address) {
    place = (place + 1) & (size - 1);
  }
  return &table[place];
}

static int64_t number_of(const void* address) {
  if (2 * known >= room) {
    const size_t larger = room == 0 ? 256 : 2 * room;
    struct buffer* const table = calloc(larger, sizeof *table);
    if (table == NULL) return -1;
    for (size_t i = 0; i < room; ++i) {
      if (buffers[i].address != NULL) *place_of(table, larger, buffers[i].address) = buffers[i];
    }
    free(buffers);
    buffers = table;
    room = larger;
  }
  struct buffer* const buffer = place_of(buffers, room, address);
  if (buffer->address == NULL) {
    buffer->address = address;
    buffer->number = (int64_t)known++;
  }
  return buffer->number;
}

static void add_buffer(const void* address) {
  if (address == MPI_IN_PLACE) {
    add("MPI_IN_PLACE");
  } else if (address == MPI_BOTTOM) {
    add("MPI_BOTTOM");
  } else {
    int64_t block;
    size_t place;
    if (tisim_find_allocation != NULL && tisim_find_allocation(address, &block, &place)) {
      add("heap%lld", (long long)block);
      if (place != 0) add("+%zu", place);
    } else {
      add("buffer%lld", (long long)number_of(address));
    }
  }
}

/* Handles */

static const char* name_of_combiner(int combiner) {
  static const struct {
    int combiner;
    const char* name;
  } all[] = {
      {MPI_COMBINER_DUP, "dup"},
      {MPI_COMBINER_CONTIGUOUS, "contiguous"},
      {MPI_COMBINER_VECTOR, "vector"},
      {MPI_COMBINER_HVECTOR, "hvector"},
      {MPI_COMBINER_INDEXED, "indexed"},
      {MPI_COMBINER_HINDEXED, "hindexed"},
      {MPI_COMBINER_INDEXED_BLOCK, "indexed_block"},
      {MPI_COMBINER_HINDEXED_BLOCK, "hindexed_block"},
      {MPI_COMBINER_STRUCT, "struct"},
      {MPI_COMBINER_SUBARRAY, "subarray"},
      {MPI_COMBINER_DARRAY, "darray"},
      {MPI_COMBINER_RESIZED, "resized"},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    if (all[i].combiner == combiner) return all[i].name;
  }
  return "other";
}

static void add_type(MPI_Datatype type, int depth) {
  if (type == MPI_DATATYPE_NULL) {
    add("MPI_DATATYPE_NULL");
    return;
  }
  struct tisim_contents c;
  const bool is_known = tisim_take_contents(type, &c);
  if (!is_known || c.type_count == 0 || depth == DEEPEST_TYPE) {
    char name[MPI_MAX_OBJECT_NAME + 1] = "";
    int letters = 0;
    PMPI_Type_get_name(type, name, &letters);
    add("%s", name);
  } else {
    add("%s(", name_of_combiner(c.combiner));
    for (int i = 0; i < c.integer_count; ++i) add("%d, ", c.integers[i]);
    for (int i = 0; i < c.address_count; ++i) add("%lld, ", (long long)c.addresses[i]);
    for (int i = 0; i < c.type_count; ++i) {
      add_type(c.types[i], depth + 1);
      add(i + 1 < c.type_count ? ", " : ")");
    }
  }
  tisim_drop_contents(&c);
}

static void add_comm(MPI_Comm comm) {
  const int64_t number = comm == MPI_COMM_NULL ? -1 : tisim_number_of_comm(comm);
  if (comm == MPI_COMM_WORLD) {
    add("MPI_COMM_WORLD");
  } else if (comm == MPI_COMM_SELF) {
    add("MPI_COMM_SELF");
  } else if (comm == MPI_COMM_NULL) {
    add("MPI_COMM_NULL");
  } else if (number >= 0) {
    add("comm%lld", (long long)number);
  } else {
    add("comm");
  }
}

static void add_op(MPI_Op op) {
  static const struct {
    const char* name;
    MPI_Op op;
  } all[] = {
#define OP(name) {#name, name}
      OP(MPI_SUM),     OP(MPI_MAX),   OP(MPI_MIN),    OP(MPI_PROD), OP(MPI_LAND),   OP(MPI_BAND),
      OP(MPI_LOR),     OP(MPI_BOR),   OP(MPI_LXOR),   OP(MPI_BXOR), OP(MPI_MINLOC), OP(MPI_MAXLOC),
      OP(MPI_REPLACE), OP(MPI_NO_OP), OP(MPI_OP_NULL)
#undef OP
  };
  const char* name = "user's";
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    if (all[i].op == op) name = all[i].name;
  }
  add("%s", name);
}

static void add_errhandler(MPI_Errhandler errhandler) {
  add(errhandler == MPI_ERRORS_ARE_FATAL  ? "MPI_ERRORS_ARE_FATAL"
      : errhandler == MPI_ERRORS_RETURN   ? "MPI_ERRORS_RETURN"
      : errhandler == MPI_ERRHANDLER_NULL ? "MPI_ERRHANDLER_NULL"
                                          : "user's");
}

/* Appends its members by their ranks in the world: "<0-3, 5>". */
static void add_group(MPI_Group group) {
  if (group == MPI_GROUP_NULL) {
    add("MPI_GROUP_NULL");
    return;
  }
  MPI_Group world;
  int size = 0;
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  PMPI_Group_size(group, &size);
  int* const members = calloc(2 * (size_t)size + 1, sizeof *members);
  if (members != NULL) {
    int* const ranks = members + size;
    for (int i = 0; i < size; ++i) members[i] = i;
    PMPI_Group_translate_ranks(group, size, members, world, ranks);
    add("<");
    for (int i = 0, end; i < size; i = end) {
      for (end = i + 1; end < size && ranks[end] == ranks[i] + end - i; ++end) continue;
      if (i != 0) add(", ");
      if (ranks[i] == MPI_UNDEFINED) {
        add("-"); /* from another world */
      } else if (end - i == 1) {
        add("%d", ranks[i]);
      } else {
        add("%d-%d", ranks[i], ranks[end - 1]);
      }
    }
    add(">");
  }
  free(members);
  PMPI_Group_free(&world);
}

static void add_number(int64_t number) {
  if (number < 0) {
    add("-");
  } else {
    add("%lld", (long long)number);
  }
}

static void add_request(MPI_Request request) {
  if (request == MPI_REQUEST_NULL) {
    add("MPI_REQUEST_NULL");
  } else {
    add_number(tisim_number_of_request(request));
  }
}

static void add_info(MPI_Info info) {
  if (info == MPI_INFO_NULL) {
    add("MPI_INFO_NULL");
    return;
  }
  int keys = 0;
  PMPI_Info_get_nkeys(info, &keys);
  add("<");
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1];
    char value[MPI_MAX_INFO_VAL + 1];
    int is_there = 0;
    PMPI_Info_get_nthkey(info, i, key);
    PMPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &is_there);
    add("%s%s=%s", i == 0 ? "" : ", ", key, is_there ? value : "");
  }
  add(">");
}

static void add_status(const MPI_Status* status) {
  int bytes = 0;
  int world = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &world);
  PMPI_Get_count(status, MPI_BYTE, &bytes);
  if (status->MPI_SOURCE < 0) {
    add("<nobody>");
    return;
  }
  add("<{rank%+d} %d %d bytes>", status->MPI_SOURCE - world, status->MPI_TAG, bytes);
}

/* The current call */

static const void* value_of(const char* kind) {
  size_t place = 0;
  for (const char* at = parameters; *at != '\0'; at = strchr(at, ',') + 1, ++place) {
    if (*at == *kind) return values[place];
  }
  return NULL;
}

static const void* value_of_name(const char* wanted) {
  size_t place = 0;
  for (const char* at = parameters; *at != '\0'; at = strchr(at, ',') + 1, ++place) {
    const size_t letters = strcspn(at + 1, ",");
    if (letters == strlen(wanted) && memcmp(at + 1, wanted, letters) == 0) return values[place];
  }
  return NULL;
}

static MPI_Comm comm_of_call(void) {
  const MPI_Comm* const comm = value_of("c");
  return comm == NULL ? MPI_COMM_NULL : *comm;
}

/* Returns the number of elements of arrays by rank or neighbour. */
static int members(const char* name) {
  const MPI_Comm comm = comm_of_call();
  int size = 0;
  int is_inter = 0;
  PMPI_Comm_test_inter(comm, &is_inter);
  if (strstr(function, "eighbor") != NULL) {
    const struct tisim_degrees degrees = tisim_degrees_of(comm);
    return name[0] == 's' ? degrees.out : degrees.in;
  }
  if (is_inter) {
    PMPI_Comm_remote_size(comm, &size);
  } else {
    PMPI_Comm_size(comm, &size);
  }
  return size;
}

/* Returns true if MPI ignores the arguments after this buffer on this rank. */
static bool is_ignored(const char* name, const void* buffer) {
  if (buffer == MPI_IN_PLACE) return true;
  const int* const root = value_of("t");
  if (root == NULL) return false;
  if (*root == MPI_PROC_NULL) return true;
  int rank = 0;
  PMPI_Comm_rank(comm_of_call(), &rank);
  const bool gathers = strcasestr(function, "gather") != NULL;
  if (!gathers && strcasestr(function, "scatter") == NULL) return false;
  const bool is_roots = (name[0] == 'r') == gathers;
  return *root == MPI_ROOT ? !is_roots : is_roots && *root != rank;
}

/* Returns true if a rank of the call's communicator has the same number in the world. Without a
 * communicator, this is only known for the own rank. */
static bool is_rank_of_world(int peer, int* own) {
  PMPI_Comm_rank(MPI_COMM_WORLD, own);
  const MPI_Comm comm = comm_of_call();
  if (comm == MPI_COMM_NULL) return peer == *own;
  int size = 0;
  int world_size = 0;
  int rank = 0;
  PMPI_Comm_size(comm, &size);
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
  return size == world_size && rank == *own;
}

static void add_peer(int peer) {
  int rank = 0;
  if (peer == MPI_PROC_NULL || peer == MPI_ANY_SOURCE || peer == MPI_UNDEFINED) {
    add(peer == MPI_PROC_NULL    ? "MPI_PROC_NULL"
        : peer == MPI_ANY_SOURCE ? "MPI_ANY_SOURCE"
                                 : "MPI_UNDEFINED");
    return;
  }
  if (is_rank_of_world(peer, &rank)) {
    add("{rank%+d}", peer - rank);
    return;
  }
  if (is_deferred) {
    add("%d", peer);
    return;
  }
  if (comm_of_call() != MPI_COMM_NULL) PMPI_Comm_rank(comm_of_call(), &rank);
  add("{%+d}", peer - rank);
}

static void add_numbers(const void* numbers, int count, bool are_large) {
  if (numbers == NULL || numbers == MPI_UNWEIGHTED || numbers == MPI_WEIGHTS_EMPTY) {
    add(numbers == NULL             ? "NULL"
        : numbers == MPI_UNWEIGHTED ? "MPI_UNWEIGHTED"
                                    : "MPI_WEIGHTS_EMPTY");
    return;
  }
  add("[");
  for (int i = 0; i < count; ++i) {
    const long long number = are_large ? ((const int64_t*)numbers)[i] : ((const int*)numbers)[i];
    add(i == 0 ? "%lld" : ", %lld", number);
  }
  add("]");
}

/* Appends coordinates in the grid of the call's communicator, relative to the own ones. */
static void add_coordinates(const int* coordinates, int count) {
  const MPI_Comm comm = comm_of_call();
  int dimensions = 0;
  int rank = 0;
  PMPI_Cartdim_get(comm, &dimensions);
  if (dimensions < count) count = dimensions;
  int* const grid = calloc(3 * (size_t)dimensions + 1, sizeof *grid);
  if (grid == NULL || !is_rank_of_world(0, &rank)) {
    free(grid);
    add_numbers(coordinates, count, false);
    return;
  }
  int* const own = grid + 2 * dimensions;
  PMPI_Cart_get(comm, dimensions, grid, grid + dimensions, own);
  add("{grid");
  for (int i = 0; i < count; ++i) add(" %d", grid[i]);
  for (int i = 0; i < count; ++i) add(" %+d", coordinates[i] - own[i]);
  add("}");
  free(grid);
}

static void add_peers(const int* peers, int count) {
  add("[");
  for (int i = 0; i < count; ++i) {
    if (i != 0) add(", ");
    add_peer(peers[i]);
  }
  add("]");
}

static void add_types(const MPI_Datatype* types, int count) {
  add("[");
  for (int i = 0; i < count; ++i) {
    if (i != 0) add(", ");
    add_type(types[i], 0);
  }
  add("]");
}

static void add_statuses(const MPI_Status* statuses, int count) {
  const bool is_of_requests = !is_deferred && (value_of("m") != NULL || value_of("R") != NULL);
  if (statuses == MPI_STATUS_IGNORE || statuses == MPI_STATUSES_IGNORE) {
    add(count < 0 ? "MPI_STATUS_IGNORE" : "MPI_STATUSES_IGNORE");
    return;
  }
  if (count >= 0) add("[");
  for (int i = 0; i < (count < 0 ? 1 : count); ++i) {
    if (i != 0) add(", ");
    if (is_of_requests && tisim_status_is_empty(i)) {
      add("-"); /* MPI does not define it */
    } else {
      add_status(&statuses[i]);
    }
  }
  if (count >= 0) add("]");
}

/* An output is omitted if the call's flag says that there is none. */
static void add_text(const char* value, bool is_given) {
  const int* const* const flag = is_given ? value_of_name("flag") : NULL;
  if (value == NULL || (flag != NULL && **flag == 0)) {
    add("-");
  } else {
    add("\"%s\"", value);
  }
}

/* Letters of values behind an address, which MPI returns, changes or frees. The same kinds passed
 * by value have small letters. */
static const char behind_address[] = "ILPADCWFHNEOR";
/* Letters of values that exist only after MPI has returned: in a line, and in a text alone. */
static const char given_in_line[] = "IsS";
static const char given[] = "IsSLPAKxqDHNOECWFRZ";

static void add_number_or(int number, int special, const char* name) {
  if (number == special) {
    add("%s", name);
  } else {
    add("%d", number);
  }
}

/* The last integer argument, which gives the length of a following array; and whether MPI ignores
 * the arguments after a buffer. */
struct position {
  int last;
  bool ignored;
};

static void add_array(char letter, const char* name, const void* array, struct position* position) {
  const int last = position->last;
  switch (letter) {
    case 'k': /* coordinates */
    case 'K': /* at most this many coordinates */
      add_coordinates(array, letter == 'k' ? INT_MAX : last);
      break;
    case 'x': /* one per dimension of the grid */
      PMPI_Cartdim_get(comm_of_call(), &position->last);
      add_numbers(array, position->last, false);
      break;
    case 'q': { /* neighbours */
      const struct tisim_degrees degrees = tisim_degrees_of(comm_of_call());
      const int degree = name[0] == 's' ? degrees.in : degrees.out;
      add_peers(array, last < degree ? last : degree);
      break;
    }
    case '3': /* ranges */
      add_numbers(array, 3 * last, false);
      break;
    case 'v': /* length given by the previous number */
      add_numbers(array, last, false);
      if (strncmp(name, "index,", 6) == 0 && last > 0) {
        position->last = ((const int*)array)[last - 1];
      }
      break;
    case 'u':
      add_numbers(array, last, true);
      break;
    case 'y':
      add_types(array, last);
      break;
    case 'V': /* by rank or neighbour */
      add_numbers(array, members(name), false);
      break;
    case 'U':
      add_numbers(array, members(name), true);
      break;
    case 'Y':
      add_types(array, members(name));
      break;
    case 's':
      add_statuses(array, -1);
      break;
    case 'S':
      add_statuses(array, last);
      break;
    case 'z':
    case 'Z': /* returned by MPI */
      add_text(array, letter == 'Z');
      break;
    case 'b': /* a buffer */
      position->ignored = is_ignored(name, array);
      if (position->ignored && array != MPI_IN_PLACE) {
        add("-");
      } else {
        add_buffer(array);
      }
      break;
    default: /* not expressible in a text */
      add("-");
      break;
  }
}

static void add_argument(char letter, const char* name, const void* value,
                         struct position* position) {
  const bool is_behind = strchr(behind_address, letter) != NULL;
  const void* const at = is_behind ? *(const void* const*)value : value;
  switch (is_behind ? tolower(letter) : letter) {
    case 'i': /* a whole number */
      if (!is_behind || strncmp(name, "outcount,", 9) == 0) position->last = *(const int*)at;
      add("%d", *(const int*)at);
      break;
    case 'l': /* a large one */
      add("%lld", (long long)*(const int64_t*)at);
      break;
    case 'p': /* a rank */
      add_peer(*(const int*)at);
      break;
    case 't': /* the root */
      if (*(const int*)at == MPI_ROOT) {
        add("MPI_ROOT");
      } else {
        add_number_or(*(const int*)at, MPI_PROC_NULL, "MPI_PROC_NULL");
      }
      break;
    case 'g': /* a tag */
      add_number_or(*(const int*)at, MPI_ANY_TAG, "MPI_ANY_TAG");
      break;
    case 'a': /* an address */
      add_buffer((const void*)*(const MPI_Aint*)at);
      break;
    case 'd': /* a type */
      add_type(*(const MPI_Datatype*)at, 0);
      break;
    case 'c':
      if (is_behind && !is_deferred) {
        add("{comm}");
      } else {
        add_comm(*(const MPI_Comm*)at);
      }
      break;
    case 'w':
      if (is_deferred) add_number(tisim_number_of_window(*(const MPI_Win*)at));
      if (!is_deferred) add("{handle}");
      break;
    case 'f':
      if (is_deferred) add_number(tisim_number_of_file(*(const MPI_File*)at));
      if (!is_deferred) add("{handle}");
      break;
    case 'G': /* a group that the line names */
      add(is_deferred ? "-" : "{group}");
      break;
    case 'h': /* a group */
      add_group(*(const MPI_Group*)at);
      break;
    case 'n':
      add_info(*(const MPI_Info*)at);
      break;
    case 'o':
      add_op(*(const MPI_Op*)at);
      break;
    case 'e':
      add_errhandler(*(const MPI_Errhandler*)at);
      break;
    case 'm': /* requests */
      add(is_deferred ? "-" : "{}");
      break;
    case 'r': /* one */
      if (is_deferred) {
        add_request(*(const MPI_Request*)at);
      } else {
        add("{}");
      }
      break;
    default:
      add_array(letter, name, letter == '-' ? NULL : *(const void* const*)at, position);
      break;
  }
}

/* Renders the current call as text. */
static void render(void) {
  struct position position = {0, false};
  size_t place = 0;
  length = 0;
  add("%s(", function);
  for (const char* at = parameters; *at != '\0'; at = strchr(at, ',') + 1, ++place) {
    const char* const name = at + 1;
    const bool is_given = strchr(is_deferred ? given : given_in_line, *at) != NULL;
    add("%s%.*s=", place == 0 ? "" : ", ", (int)strcspn(name, ","), name);
    if ((is_given && !has_returned) || (position.ignored && strchr("idlVUY", *at) != NULL)) {
      add("-");
    } else {
      add_argument(*at, name, values[place], &position);
    }
  }
  add(")");
  for (char* c = text; *c != '\0'; ++c) {
    if ((unsigned char)*c < 32 || *c == 127) *c = '_';
  }
  function = NULL;
}

int64_t tisim_arguments(tisim_writer* writer) {
  if (!is_enabled || function == NULL) return -1;
  is_deferred = false;
  render();
  return tisim_writer_text(writer, text);
}

/* Returns whether there is room for `more` additional bytes, growing the buffer if necessary. */
static bool has_room(size_t more) {
  if (deferred_length + more > MOST_DEFERRED) return false;
  if (deferred_length + more <= deferred_capacity) return true;
  const size_t larger = 2 * (deferred_length + more);
  char* const moved = realloc(deferred, larger);
  if (moved == NULL) return false;
  deferred = moved;
  deferred_capacity = larger;
  return true;
}

/* Prepends the repetition count of the last call. */
static void end_repetition(void) {
  char times[32];
  const size_t digits =
      (size_t)snprintf(times, sizeof times, "%llu x ", (unsigned long long)repeated);
  if (repeated > 1 && has_room(digits)) {
    memmove(deferred + last_deferred + digits, deferred + last_deferred,
            deferred_length - last_deferred);
    memcpy(deferred + last_deferred, times, digits);
    deferred_length += digits;
  }
  repeated = 0;
}

void tisim_defer_call(void) {
  if (!is_enabled || function == NULL) return;
  is_deferred = true;
  render();
  if (repeated != 0 && deferred_length - last_deferred == length + SEPARATOR_LENGTH &&
      memcmp(deferred + last_deferred, text, length) == 0) {
    ++repeated;
    return;
  }
  end_repetition();
  if (dropped != 0 || !has_room(length + 32)) {
    ++dropped;
    return;
  }
  last_deferred = deferred_length;
  memcpy(deferred + deferred_length, text, length);
  deferred_length += length;
  memcpy(deferred + deferred_length, SEPARATOR, SEPARATOR_LENGTH);
  deferred_length += SEPARATOR_LENGTH;
  repeated = 1;
}

/* Returns the number of bytes of deferred calls from here on that fit into one text. */
static size_t one_text(const char* from, size_t rest) {
  if (rest <= LONGEST_TEXT) return rest;
  size_t whole = 0;
  for (const char* end; (end = strstr(from + whole, SEPARATOR)) != NULL;) {
    const size_t next = (size_t)(end - from) + SEPARATOR_LENGTH;
    if (next > LONGEST_TEXT) break;
    whole = next;
  }
  return whole;
}

size_t tisim_deferred_calls(tisim_writer* writer, int64_t* numbers) {
  size_t count = 0;
  if (deferred_length == 0) return 0;
  end_repetition();
  if (dropped != 0) {
    deferred_length +=
        (size_t)snprintf(deferred + deferred_length, deferred_capacity - deferred_length,
                         "%llu x ..." SEPARATOR, (unsigned long long)dropped);
  }
  deferred[deferred_length - SEPARATOR_LENGTH] = '\0';
  for (size_t from = 0; from < deferred_length && count < TISIM_MOST_TEXTS;) {
    const size_t size = one_text(deferred + from, deferred_length - from);
    if (size == 0) break;
    deferred[from + size - SEPARATOR_LENGTH] = '\0';
    numbers[count++] = tisim_writer_text(writer, deferred + from);
    from += size;
  }
  deferred_length = 0;
  dropped = 0;
  return count;
}
