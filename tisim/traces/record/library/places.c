/* The modules of the program, and the frames on its stack. */
#include "places.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

/* A module is named after its file; the writer's comment "module: NAME BUILD-ID PATH" identifies
 * it. The linker's identifier, "-" if absent, reveals whether a file has changed. */

#define MOST_MODULES 256
#define LONGEST_NAME 64
#define LONGEST_ID 40 /* digits */

struct module {
  uintptr_t base;
  char path[PATH_MAX];
  char name[LONGEST_NAME];
};

static struct module modules[MOST_MODULES];
static size_t module_count;

struct identifier {
  uintptr_t base;
  char digits[LONGEST_ID + 1];
};

static void read_notes(const char* notes, size_t size, char* digits) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    memcpy(&note, notes, sizeof note);
    const size_t name = (note.n_namesz + 3U) & ~3U;
    const size_t bytes = (note.n_descsz + 3U) & ~3U;
    if (sizeof note + name + bytes > size) return;
    if (note.n_type == NT_GNU_BUILD_ID && memcmp(notes + sizeof note, "GNU", 4) == 0) {
      const unsigned char* const id = (const unsigned char*)notes + sizeof note + name;
      for (size_t i = 0; i < note.n_descsz && 2 * i < LONGEST_ID; ++i) {
        sprintf(digits + 2 * i, "%02x", id[i]);
      }
      return;
    }
    notes += sizeof note + name + bytes;
    size -= sizeof note + name + bytes;
  }
}

static int take_identifier(struct dl_phdr_info* info, size_t size, void* argument) {
  struct identifier* const wanted = argument;
  (void)size;
  if (info->dlpi_addr != wanted->base) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const part = &info->dlpi_phdr[i];
    if (part->p_type != PT_NOTE) continue;
    read_notes((const char*)(info->dlpi_addr + part->p_vaddr), part->p_memsz, wanted->digits);
  }
  return 1;
}

static bool is_taken(const char* name) {
  for (size_t i = 0; i < module_count; ++i) {
    if (strcmp(modules[i].name, name) == 0) return true;
  }
  return false;
}

/* Uses the file name without its directory, with a number appended if the name is taken. */
static void name_module(struct module* module) {
  char plain[LONGEST_NAME - 16];
  const char* const slash = strrchr(module->path, '/');
  const char* const file = slash == NULL ? module->path : slash + 1;
  snprintf(plain, sizeof plain, "%.*s", (int)sizeof plain - 1, file);
  for (char* c = plain; *c != '\0'; ++c) {
    if (strchr("+> ", *c) != NULL || (unsigned char)*c < ' ') *c = '_';
  }
  snprintf(module->name, sizeof module->name, "%s", plain);
  for (int number = 2; is_taken(module->name); ++number) {
    snprintf(module->name, sizeof module->name, "%s~%d", plain, number);
  }
}

static const struct module* add_module(tisim_writer* writer, uintptr_t base, const char* path) {
  if (module_count == MOST_MODULES) return NULL;
  struct module* const module = &modules[module_count];
  module->base = base;
  ssize_t length = -1;
  if (path[0] == '\0') {
    length = readlink("/proc/self/exe", module->path, sizeof module->path - 1);
    if (length > 0) module->path[length] = '\0';
  }
  if (length <= 0) snprintf(module->path, sizeof module->path, "%s", path);
  name_module(module);
  ++module_count;
  struct identifier identifier = {base, "-"};
  char line[PATH_MAX + LONGEST_NAME + LONGEST_ID + 16];
  dl_iterate_phdr(take_identifier, &identifier);
  snprintf(line, sizeof line, "module: %s %s %s", module->name, identifier.digits, module->path);
  tisim_writer_comment(writer, line);
  return module;
}

size_t tisim_place_of(tisim_writer* writer, const void* address, char* text) {
  Dl_info found;
  struct link_map* map = NULL;
  const struct module* module = NULL;
  if (dladdr1(address, &found, (void**)&map, RTLD_DL_LINKMAP) != 0 && map != NULL) {
    for (size_t i = 0; module == NULL && i < module_count; ++i) {
      if (modules[i].base == map->l_addr) module = &modules[i];
    }
    if (module == NULL) module = add_module(writer, map->l_addr, map->l_name);
  }
  const uintptr_t base = module == NULL ? 0 : module->base;
  return (size_t)snprintf(text, TISIM_LONGEST_PLACE, "%s+0x%llx",
                          module == NULL ? "?" : module->name,
                          (unsigned long long)((uintptr_t)address - base));
}

/* Upper end of this thread's stack; NULL: not yet known. */
static _Thread_local const char* stack_end;

const char* tisim_end_of_stack(void) {
  if (stack_end == NULL) {
    pthread_attr_t attributes;
    void* begin = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      pthread_attr_getstack(&attributes, &begin, &size);
      pthread_attr_destroy(&attributes);
    }
    stack_end = (const char*)begin + size;
  }
  return stack_end;
}

/* In glibc from 2.35 on. Where it exists, the unwinder uses it to find a function's tables without
 * a lock, and may be called in a signal handler. */
extern int find_object(void* address, void* found) __asm__("_dl_find_object") __attribute__((weak));

struct registers {
  uintptr_t instruction;
  uintptr_t frame;
  uintptr_t stack;
};

#ifdef __x86_64__
#define KNOWS_REGISTERS true
static struct registers registers_of(const ucontext_t* context) {
  const greg_t* const all = context->uc_mcontext.gregs;
  return (struct registers){(uintptr_t)all[REG_RIP], (uintptr_t)all[REG_RBP],
                            (uintptr_t)all[REG_RSP]};
}
#elif defined(__aarch64__)
#define KNOWS_REGISTERS true
static struct registers registers_of(const ucontext_t* context) {
  const mcontext_t* const all = &context->uc_mcontext;
  return (struct registers){all->pc, all->regs[29], all->sp};
}
#else
#define KNOWS_REGISTERS false
static struct registers registers_of(const ucontext_t* context) {
  (void)context;
  return (struct registers){0, 0, 0};
}
#endif

bool tisim_knows_interrupted_frames(void) { return KNOWS_REGISTERS; }

struct visit {
  uintptr_t interrupted;
  const void** addresses;
  int count;
};

/* The handler's frames come first. */
static _Unwind_Reason_Code visit(struct _Unwind_Context* context, void* argument) {
  struct visit* const frames = argument;
  const uintptr_t address = _Unwind_GetIP(context);
  if (address == 0 || frames->count == TISIM_MOST_FRAMES) return _URC_END_OF_STACK;
  if (frames->count > 0) {
    frames->addresses[frames->count++] = (const void*)address;
  } else if (address == frames->interrupted) {
    frames->addresses[frames->count++] = (const void*)(address + 1);
  }
  return _URC_NO_REASON;
}

/* A function that keeps a frame pointer stores its caller's there, and the return address above
 * it. */
static int frames_by_pointers(const struct registers* registers, const void** addresses) {
  const uintptr_t end = (uintptr_t)tisim_end_of_stack();
  uintptr_t low = registers->stack;
  uintptr_t frame = registers->frame;
  int count = 0;
  addresses[count++] = (const void*)(registers->instruction + 1);
  while (count < TISIM_MOST_FRAMES && frame >= low && frame + 2 * sizeof(uintptr_t) <= end &&
         frame % sizeof(uintptr_t) == 0) {
    const uintptr_t* const stored = (const uintptr_t*)frame;
    if (stored[1] == 0) break;
    addresses[count++] = (const void*)stored[1];
    low = frame + 2 * sizeof(uintptr_t);
    frame = stored[0];
  }
  return count;
}

int tisim_interrupted_frames(const void* context, const void** addresses) {
  const struct registers registers = registers_of(context);
  if (find_object != NULL) {
    struct visit frames = {registers.instruction, addresses, 0};
    _Unwind_Backtrace(visit, &frames);
    if (frames.count > 0) return frames.count;
  }
  return frames_by_pointers(&registers, addresses);
}
