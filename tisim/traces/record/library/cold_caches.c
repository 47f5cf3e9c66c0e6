/* Empties the caches of a rank's data, so that the next computation takes it from memory, as that
 * of an input whose data no cache holds would. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "counting.h"

/* Bytes, which all processors with clflushopt have. */
#define LINE 64
#define PAGES 4096

#ifdef __x86_64__

bool tisim_can_empty_caches(void) {
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_CLFLUSHOPT) != 0;
}

static void flush(uintptr_t begin, uintptr_t end) {
  for (; begin < end; begin += LINE) {
    __asm__ volatile("clflushopt (%0)" : : "r"(begin) : "memory");
  }
}

/* Pages that the rank has not used yet stay so: to flush them would make them. */
static void flush_used(uintptr_t begin, uintptr_t end) {
  static unsigned char is_used[PAGES];
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  while (begin < end) {
    const uintptr_t left = (end - begin) / page;
    const uintptr_t count = left < PAGES ? left : PAGES;
    if (count == 0 || mincore((void*)begin, count * page, is_used) != 0) return;
    for (uintptr_t i = 0; i < count; ++i, begin += page) {
      if ((is_used[i] & 1) != 0) flush(begin, begin + page);
    }
  }
}

/* All that the rank can write and shares with no other: data of the program and of libraries. */
void tisim_empty_caches(void) {
  static char text[1 << 16];
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  size_t size = 0;
  for (ssize_t more; (more = read(file, text + size, sizeof text - 1 - size)) > 0;) {
    size += (size_t)more;
    text[size] = '\0';
    char* line = text;
    for (char* end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
      uintptr_t first, last;
      char access[5];
      if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &first, &last, access) != 3) continue;
      if (strcmp(access, "rw-p") == 0) flush_used(first, last);
    }
    /* The line that is not whole yet. */
    size -= (size_t)(line - text);
    memmove(text, line, size);
  }
  close(file);
  __asm__ volatile("sfence" : : : "memory");
}

#else

bool tisim_can_empty_caches(void) { return false; }

void tisim_empty_caches(void) {}

#endif
