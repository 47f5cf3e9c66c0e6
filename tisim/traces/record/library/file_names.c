/* The names of files in a trace. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record.h"

#define LONGEST_NAME 4096
#define MOST_DIGITS 18

static bool begins_with(const char *text, const char *beginning) {
  return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool is_library(const char *path) {
  const char *const slash = strrchr(path, '/');
  for (const char *at = slash == NULL ? path : slash; (at = strstr(at, ".so")) != NULL; at += 3) {
    if (at[3] == '\0' || at[3] == '.') return true;
  }
  return false;
}

static bool is_left_out(const char *path) {
  return begins_with(path, "/proc/") || begins_with(path, "/sys/") || begins_with(path, "/dev/") ||
         is_library(path);
}

/* The last number in the last part of the name, if it is the rank's: where it begins and ends. */
static const char *rank_in(const char *name, int rank, const char **end) {
  const char *const slash = strrchr(name, '/');
  const char *const first = slash == NULL ? name : slash + 1;
  const char *found = NULL;
  for (const char *at = first; *at != '\0';) {
    const size_t digits = strspn(at, "0123456789");
    if (digits != 0 && digits <= MOST_DIGITS && strtoll(at, NULL, 10) == rank) {
      found = at;
      *end = at + digits;
    }
    at += digits == 0 ? 1 : digits;
  }
  return found;
}

/* The path from the directory of a descriptor on. */
static bool full_path(int directory, const char *path, char *name, size_t room) {
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

/* Blanks end a word of a trace, # begins a comment, and braces stand for numbers. */
static char allowed(char c) {
  const bool is_refused = (unsigned char)c <= ' ' || c == '\x7f' || c == '#' || c == '{' || c == '}';
  return is_refused ? '_' : c;
}

const char *tisim_name_of_file(int directory, const char *path, bool of_rank) {
  static char name[LONGEST_NAME];
  static char text[2 * LONGEST_NAME + 64];
  if (path == NULL || path[0] == '\0' || !full_path(directory, path, name, sizeof name) ||
      is_left_out(name)) {
    return NULL;
  }
  const struct tisim_comm *const world = tisim_comm_of(MPI_COMM_WORLD);
  const char *rank_end = NULL;
  const char *const rank = of_rank && world->size > 1 ? rank_in(name, world->rank, &rank_end) : NULL;
  char *end = text;
  for (const char *at = name; *at != '\0';) {
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
