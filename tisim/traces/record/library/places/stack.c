#include "stack.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>
#include <unwind.h>

/* The stack of this thread lies below this address; NULL: not known yet. */
static _Thread_local const char *stack_end;

const char *tisim_end_of_stack(void) {
  if (stack_end == NULL) {
    pthread_attr_t attributes;
    void *begin = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      pthread_attr_getstack(&attributes, &begin, &size);
      pthread_attr_destroy(&attributes);
    }
    stack_end = (const char *)begin + size;
  }
  return stack_end;
}

/* Of the C library from 2.35 on. Where it is there, the unwinder finds the tables of a function by
 * it, without a lock, and may be called in a handler. */
extern int _dl_find_object(void *address, void *found) __attribute__((weak));

struct registers {
  uintptr_t instruction;
  uintptr_t frame;
  uintptr_t stack;
};

#if defined(__linux__) && defined(__x86_64__)
#define KNOWS_REGISTERS true
static struct registers registers_of(const ucontext_t *context) {
  const greg_t *const all = context->uc_mcontext.gregs;
  return (struct registers){(uintptr_t)all[REG_RIP], (uintptr_t)all[REG_RBP],
                            (uintptr_t)all[REG_RSP]};
}
#elif defined(__linux__) && defined(__aarch64__)
#define KNOWS_REGISTERS true
static struct registers registers_of(const ucontext_t *context) {
  const mcontext_t *const all = &context->uc_mcontext;
  return (struct registers){all->pc, all->regs[29], all->sp};
}
#else
#define KNOWS_REGISTERS false
static struct registers registers_of(const ucontext_t *context) {
  (void)context;
  return (struct registers){0, 0, 0};
}
#endif

bool tisim_knows_interrupted_frames(void) { return KNOWS_REGISTERS; }

struct visit {
  uintptr_t interrupted;
  const void **addresses;
  int count;
};

/* The handler's own frames come first. */
static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *argument) {
  struct visit *const frames = argument;
  const uintptr_t address = _Unwind_GetIP(context);
  if (address == 0 || frames->count == TISIM_MOST_FRAMES) return _URC_END_OF_STACK;
  if (frames->count > 0) {
    frames->addresses[frames->count++] = (const void *)address;
  } else if (address == frames->interrupted) {
    frames->addresses[frames->count++] = (const void *)(address + 1);
  }
  return _URC_NO_REASON;
}

/* A function that keeps a frame pointer stores its caller's where it points to, and the return
 * address above it. */
static int frames_by_pointers(const struct registers *registers, const void **addresses) {
  const uintptr_t end = (uintptr_t)tisim_end_of_stack();
  uintptr_t low = registers->stack;
  uintptr_t frame = registers->frame;
  int count = 0;
  addresses[count++] = (const void *)(registers->instruction + 1);
  while (count < TISIM_MOST_FRAMES && frame >= low && frame + 2 * sizeof(uintptr_t) <= end &&
         frame % sizeof(uintptr_t) == 0) {
    const uintptr_t *const stored = (const uintptr_t *)frame;
    if (stored[1] == 0) break;
    addresses[count++] = (const void *)stored[1];
    low = frame + 2 * sizeof(uintptr_t);
    frame = stored[0];
  }
  return count;
}

int tisim_interrupted_frames(const void *context, const void **addresses) {
  const struct registers registers = registers_of(context);
  if (_dl_find_object != NULL) {
    struct visit frames = {registers.instruction, addresses, 0};
    _Unwind_Backtrace(visit, &frames);
    if (frames.count > 0) return frames.count;
  }
  return frames_by_pointers(&registers, addresses);
}
