/* A QEMU user-mode plug-in that counts the instructions of a program, over all threads.
 *
 * The count is in a file, PREFIX-PID, that the recorder inside the program also maps. Debian's QEMU
 * 7.2 lacks the header for plug-ins: the parts used here are declared below.
 *
 * Not counted are the recorder's own code, whose address range it provides; the jumps through which
 * a program reaches its libraries; and, in a program that counts itself (argument `counts=1`), the
 * instructions added to each block. An instruction with a rep prefix counts once, regardless of its
 * repetitions: QEMU executes each repetition as a separate block that ends with the instruction. */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared_count.h"

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { INLINE_ADD_U64 = 0, NO_REGISTERS = 0 };

extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id,
                                                  void (*)(plugin_id, struct qemu_plugin_tb*));
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb*);
extern struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb*, size_t);
extern uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn*);
extern size_t qemu_plugin_insn_size(const struct qemu_plugin_insn*);
extern const void* qemu_plugin_insn_data(const struct qemu_plugin_insn*);
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb*, int, void*, uint64_t);
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb*, void (*)(unsigned, void*),
                                                 int, void*);

#define EXPORTED __attribute__((visibility("default")))
#define MOST_CPUS 4096

EXPORTED int qemu_plugin_version = 1;

static struct tisim_shared_count* shared;
static bool counts_itself;
/* By virtual processor: the address of the instruction being repeated; 0 if none. */
static uint64_t repeated[MOST_CPUS];

struct code {
  const unsigned char* bytes;
  size_t size;
  uint64_t address;
};

static struct code code_of(const struct qemu_plugin_tb* block, size_t index) {
  const struct qemu_plugin_insn* const instruction = qemu_plugin_tb_get_insn(block, index);
  const struct code code = {qemu_plugin_insn_data(instruction), qemu_plugin_insn_size(instruction),
                            qemu_plugin_insn_vaddr(instruction)};
  return code;
}

/* rep or repne before a string instruction. */
static bool repeats(struct code code) {
  size_t place = 0;
  bool prefixed = false;
  while (place < code.size && (code.bytes[place] == 0xf3 || code.bytes[place] == 0xf2 ||
                               code.bytes[place] == 0x66 || code.bytes[place] == 0x67)) {
    if (code.bytes[place] == 0xf3 || code.bytes[place] == 0xf2) prefixed = true;
    ++place;
  }
  if (place < code.size && (code.bytes[place] & 0xf0) == 0x40) ++place;
  if (!prefixed || place + 1 != code.size) return false;
  const unsigned char what = code.bytes[place];
  return (what >= 0xa4 && what <= 0xa7) || (what >= 0xaa && what <= 0xaf);
}

/* jmp *address(%rip), as in a program's procedure linkage table. */
static bool is_linkage(const struct qemu_plugin_tb* block, size_t count) {
  static const unsigned char mark[] = {0xf3, 0x0f, 0x1e, 0xfa}; /* endbr64 */
  size_t first = 0;
  struct code code = code_of(block, 0);
  if (code.size == sizeof mark && memcmp(code.bytes, mark, sizeof mark) == 0) first = 1;
  if (count != first + 1) return false;
  code = code_of(block, first);
  const size_t prefix = code.size != 0 && code.bytes[0] == 0xf2;
  return code.size == prefix + 6 && code.bytes[prefix] == 0xff && code.bytes[prefix + 1] == 0x25;
}

/* lea NUMBER(%r15), %r15. */
static bool is_own_count(struct code code) {
  return code.size >= 4 && code.bytes[0] == 0x4d && code.bytes[1] == 0x8d &&
         (code.bytes[2] == 0x7f || code.bytes[2] == 0xbf);
}

static void begin_or_repeat(unsigned cpu, void* address) {
  uint64_t* const last = &repeated[cpu % MOST_CPUS];
  if (*last == (uint64_t)(uintptr_t)address) return;
  *last = (uint64_t)(uintptr_t)address;
  ++shared->instructions;
}

static void begin_repeating(unsigned cpu, void* address) {
  repeated[cpu % MOST_CPUS] = (uint64_t)(uintptr_t)address;
}

static void end_repeating(unsigned cpu, void* nothing) {
  (void)nothing;
  repeated[cpu % MOST_CPUS] = 0;
}

/* Returns true if the code before the block may be a repeated instruction that has ended. */
static bool follows_repeated(struct code first) {
  if ((first.address & 4095) < 3) return true; /* the previous page may not be mapped */
  const unsigned char* const end = (const unsigned char*)(uintptr_t)first.address;
  const unsigned char what = end[-1];
  if (!((what >= 0xa4 && what <= 0xa7) || (what >= 0xaa && what <= 0xaf))) return false;
  return end[-2] == 0xf3 || end[-2] == 0xf2 || end[-3] == 0xf3 || end[-3] == 0xf2;
}

static void translate(plugin_id id, struct qemu_plugin_tb* block) {
  (void)id;
  const size_t count = qemu_plugin_tb_n_insns(block);
  if (count == 0) return;
  const struct code first = code_of(block, 0);
  if (first.address >= shared->skipped_begin && first.address < shared->skipped_end) return;
  if (is_linkage(block, count)) return;
  const struct code last = code_of(block, count - 1);
  void* const at_last = (void*)(uintptr_t)last.address;
  if (count == 1 && repeats(first)) {
    qemu_plugin_register_vcpu_tb_exec_cb(block, begin_or_repeat, NO_REGISTERS, at_last);
    return;
  }
  uint64_t counted = count;
  for (size_t i = 0; counts_itself && i < count; ++i) counted -= is_own_count(code_of(block, i));
  qemu_plugin_register_vcpu_tb_exec_inline(block, INLINE_ADD_U64, &shared->instructions, counted);
  if (repeats(last)) {
    qemu_plugin_register_vcpu_tb_exec_cb(block, begin_repeating, NO_REGISTERS, at_last);
  } else if (follows_repeated(first)) {
    qemu_plugin_register_vcpu_tb_exec_cb(block, end_repeating, NO_REGISTERS, NULL);
  }
}

EXPORTED int qemu_plugin_install(plugin_id id, const void* info, int argc, char** argv) {
  (void)info;
  char path[4096];
  const char* prefix = "/dev/shm/tisim-count";
  for (int i = 0; i < argc; ++i) {
    if (strncmp(argv[i], "prefix=", 7) == 0) prefix = argv[i] + 7;
    if (strcmp(argv[i], "counts=1") == 0) counts_itself = true;
  }
  snprintf(path, sizeof path, "%s-%ld", prefix, (long)getpid());
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, sizeof *shared) != 0) {
    fprintf(stderr, "tisim record: %s cannot be made\n", path);
    return -1;
  }
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (shared == MAP_FAILED) return -1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
  return 0;
}
