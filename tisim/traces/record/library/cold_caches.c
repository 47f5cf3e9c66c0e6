/* Flushes a rank's data from the caches, so that the next computation loads it from memory, as for
 * a problem too large for any cache. */
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

/* Cache line size in bytes of all processors with clflushopt. */
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

/* Skips pages that the rank has not used yet: flushing would allocate them. */
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

/* Flushes all private writable memory of the rank: data of the program and of libraries. */
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
    /* Keeps the incomplete last line. */
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
