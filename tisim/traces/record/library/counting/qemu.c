/* The counter of a program that runs under QEMU with the plug-in of tisim: a file that both map. */
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record.h"
#include "shared_count.h"

const volatile uint64_t *tisim_qemu_count;

/* Where the code of this library lies. */
static int find_own_code(struct dl_phdr_info *module, size_t size, void *found) {
  (void)size;
  struct tisim_shared_count *const shared = found;
  const uintptr_t own = (uintptr_t)&find_own_code;
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const uintptr_t begin = (uintptr_t)module->dlpi_addr + (uintptr_t)module->dlpi_phdr[i].p_vaddr;
    const uintptr_t end = begin + (uintptr_t)module->dlpi_phdr[i].p_memsz;
    if (module->dlpi_phdr[i].p_type != PT_LOAD || own < begin || own >= end) continue;
    shared->skipped_begin = begin;
    shared->skipped_end = end;
    return 1;
  }
  return 0;
}

/* Before the code of this library is translated, but for this function. */
__attribute__((constructor)) static void find_count(void) {
  const char *const prefix = getenv("TISIM_RECORD_QEMU");
  char path[4096];
  if (prefix == NULL) return;
  snprintf(path, sizeof path, "%s-%ld", prefix, (long)getpid());
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return; /* the launcher, or QEMU itself, which loads this library too */
  void *const shared =
      mmap(NULL, sizeof(struct tisim_shared_count), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  unlink(path);
  if (shared == MAP_FAILED) return;
  dl_iterate_phdr(find_own_code, shared);
  tisim_qemu_count = &((struct tisim_shared_count *)shared)->instructions;
}
