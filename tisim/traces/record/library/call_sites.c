/* Call paths, unwound once and then recognised by the return addresses on the stack.
 *
 * The unwinder of the compiler's run-time library finds a path and the stack slot of each of its
 * return addresses. A later call from the same place, at the same stack height, has the same path
 * if the same return addresses are in these slots: the first of them identifies the calling
 * function, and thereby the slot of the next one, and so on. Comparing them takes nanoseconds,
 * unwinding microseconds. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include "places.h"

#define FIRST_PATHS 1024           /* a power of two */
#define MOST_PATH_BYTES (32 << 20) /* of known paths; beyond that, all are dropped */
#define SLOT_ALIGNMENT sizeof(void*)

struct frame {
  const void* return_address;
  const void* const* slot; /* its place on the stack; NULL: unknown */
};

struct path {
  struct path* next; /* with the same hash */
  const void* stack; /* stack height at which the path was found */
  int64_t number;
  int count;
  struct frame frames[]; /* innermost first */
};

static tisim_writer* writer;
static struct path** paths; /* a hash table */
static size_t path_room;
static size_t path_count;
static size_t path_bytes;

void tisim_begin_call_sites(tisim_writer* its_writer) { writer = its_writer; }

static size_t hash(const void* caller, const void* stack) {
  const uint64_t mixed = ((uint64_t)(uintptr_t)caller * UINT64_C(0x9E3779B97F4A7C15)) ^
                         ((uint64_t)(uintptr_t)stack * UINT64_C(0xC2B2AE3D27D4EB4F));
  return (size_t)(mixed >> 29);
}

/* ---- unwinding a path ---- */

struct search {
  const void* caller;
  int count;
  bool has_begun; /* past the recorder's frames */
  bool is_known;  /* the slot of each return address */
  struct frame frames[TISIM_MOST_FRAMES];
};

/* While a frame is visited, its canonical frame address is that of the frame that it called: on
 * x86-64 the return address is stored just below. */
static _Unwind_Reason_Code visit(struct _Unwind_Context* context, void* argument) {
  struct search* const search = argument;
  const void* const address = (const void*)_Unwind_GetIP(context);
  if (address == NULL) return _URC_END_OF_STACK;
  if (!search->has_begun && address != search->caller) return _URC_NO_REASON;
  search->has_begun = true;
  if (search->count == TISIM_MOST_FRAMES) return _URC_END_OF_STACK;
  const void* const* slot = (const void* const*)_Unwind_GetCFA(context) - 1;
  const char* const end = tisim_end_of_stack();
  const bool is_there = (uintptr_t)slot % SLOT_ALIGNMENT == 0 && (const char*)slot < end &&
                        (const char*)slot > (const char*)&search && *slot == address;
  if (!is_there) search->is_known = false;
  search->frames[search->count++] = (struct frame){address, is_there ? slot : NULL};
  return _URC_NO_REASON;
}

/* ---- known paths ---- */

static bool is_same(const struct path* path, const void* caller, const void* stack) {
  if (path->stack != stack || path->frames[0].return_address != caller) return false;
  for (int i = 0; i < path->count; ++i) {
    if (*path->frames[i].slot != path->frames[i].return_address) return false;
  }
  return true;
}

static void forget_paths(void) {
  for (size_t i = 0; i < path_room; ++i) {
    for (struct path *path = paths[i], *next; path != NULL; path = next) {
      next = path->next;
      free(path);
    }
    paths[i] = NULL;
  }
  path_count = 0;
  path_bytes = 0;
}

static bool grow(void) {
  const size_t room = path_room == 0 ? FIRST_PATHS : 2 * path_room;
  struct path** const larger = calloc(room, sizeof *larger);
  if (larger == NULL) return false;
  for (size_t i = 0; i < path_room; ++i) {
    for (struct path *path = paths[i], *next; path != NULL; path = next) {
      struct path** const place =
          &larger[hash(path->frames[0].return_address, path->stack) & (room - 1)];
      next = path->next;
      path->next = *place;
      *place = path;
    }
  }
  free(paths);
  paths = larger;
  path_room = room;
  return true;
}

static void keep(const struct search* search, const void* stack, int64_t number) {
  const size_t size = sizeof(struct path) + (size_t)search->count * sizeof(struct frame);
  if (path_bytes + size > MOST_PATH_BYTES) forget_paths();
  if (path_count >= path_room && !grow()) return;
  struct path* const path = malloc(size);
  if (path == NULL) return;
  struct path** const place = &paths[hash(search->caller, stack) & (path_room - 1)];
  path->next = *place;
  path->stack = stack;
  path->number = number;
  path->count = search->count;
  memcpy(path->frames, search->frames, (size_t)search->count * sizeof(struct frame));
  *place = path;
  ++path_count;
  path_bytes += size;
}

/* Registers the frames as a text, callers first: "program+0x12 > libsolver.so+0x34". */
static int64_t number_of(const struct search* search) {
  char text[TISIM_MOST_FRAMES * (TISIM_LONGEST_PLACE + 3) + 1];
  char* end = text;
  for (int i = search->count; i-- > 0;) {
    end += tisim_place_of(writer, search->frames[i].return_address, end);
    if (i > 0) {
      memcpy(end, " > ", 3);
      end += 3;
    }
  }
  *end = '\0';
  return tisim_writer_text(writer, text);
}

static int64_t find(const void* caller, const void* stack) {
  struct search search;
  search.caller = caller;
  search.count = 0;
  search.has_begun = false;
  search.is_known = true;
  _Unwind_Backtrace(visit, &search);
  if (search.count == 0) return -1;
  const int64_t number = number_of(&search);
  if (search.is_known && number >= 0) keep(&search, stack, number);
  return number;
}

int64_t tisim_call_site(const void* caller) {
  if (writer == NULL) return -1;
  const void* const stack = __builtin_frame_address(0);
  if (path_room != 0) {
    struct path* path = paths[hash(caller, stack) & (path_room - 1)];
    while (path != NULL && !is_same(path, caller, stack)) path = path->next;
    if (path != NULL) return path->number;
  }
  return find(caller, stack);
}
