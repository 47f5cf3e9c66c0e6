/* The numbers of open files. */
#include <stdlib.h>

#include "record.h"

static bool *taken;
static int64_t room;
static int64_t lowest; /* all below are taken */

int64_t tisim_take_handle(void) {
  while (lowest < room && taken[lowest]) ++lowest;
  if (lowest == room) {
    const int64_t larger = room == 0 ? 64 : 2 * room;
    bool *const moved = realloc(taken, (size_t)larger * sizeof *moved);
    if (moved == NULL) return -1;
    for (int64_t i = room; i < larger; ++i) moved[i] = false;
    taken = moved;
    room = larger;
  }
  taken[lowest] = true;
  return lowest;
}

void tisim_free_handle(int64_t handle) {
  taken[handle] = false;
  if (handle < lowest) lowest = handle;
}
