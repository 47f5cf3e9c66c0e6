/* The memory blocks that the program has allocated, with `--arguments all`: a buffer is described
 * as an offset in a block. The functions of the C library are glibc's. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "arguments.h"
#include "record.h"

#define FIRST_ROOM 4096
#define MOST_NUMBERS 65536

/* A node of a treap, ordered by address and a heap by weight. Node 0 is the null node. */
struct block {
  uintptr_t first;
  size_t size;
  int64_t number; /* -1: not used by any call yet */
  uint32_t left;
  uint32_t right;
  uint32_t weight;
};

static struct block* blocks; /* not allocated by malloc */
static size_t room;
static uint32_t made;   /* nodes created so far */
static uint32_t unused; /* free list, linked by `left` */
static uint32_t root;
static uint32_t seed = 2463534242U;
static uint8_t is_taken[MOST_NUMBERS];
static atomic_flag lock = ATOMIC_FLAG_INIT;

static void enter(void) {
  while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) continue;
}

static void leave(void) { atomic_flag_clear_explicit(&lock, memory_order_release); }

static bool has_room(void) {
  if (made + 1 < room) return true;
  const size_t larger = room == 0 ? FIRST_ROOM : 2 * room;
  void* const moved =
      room == 0 ? mmap(NULL, larger * sizeof *blocks, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                : mremap(blocks, room * sizeof *blocks, larger * sizeof *blocks, MREMAP_MAYMOVE);
  if (moved == MAP_FAILED) return false;
  blocks = moved;
  room = larger;
  return true;
}

static uint32_t merge(uint32_t below, uint32_t above) {
  if (below == 0 || above == 0) return below + above;
  if (blocks[below].weight > blocks[above].weight) {
    blocks[below].right = merge(blocks[below].right, above);
    return below;
  }
  blocks[above].left = merge(below, blocks[above].left);
  return above;
}

static void split(uint32_t tree, uintptr_t address, uint32_t* below, uint32_t* above) {
  if (tree == 0) {
    *below = *above = 0;
  } else if (blocks[tree].first < address) {
    split(blocks[tree].right, address, &blocks[tree].right, above);
    *below = tree;
  } else {
    split(blocks[tree].left, address, below, &blocks[tree].left);
    *above = tree;
  }
}

static void* allocated(void* block, size_t size) {
  if (block == NULL) return NULL;
  enter();
  if (unused != 0 || has_room()) {
    const uint32_t node = unused != 0 ? unused : ++made;
    if (unused != 0) unused = blocks[node].left;
    seed ^= seed << 13, seed ^= seed >> 17, seed ^= seed << 5;
    const struct block one = {(uintptr_t)block, size, -1, 0, 0, seed};
    blocks[node] = one;
    uint32_t below;
    uint32_t above;
    split(root, one.first, &below, &above);
    root = merge(merge(below, node), above);
  }
  leave();
  return block;
}

static void freed(const void* block) {
  if (block == NULL) return;
  enter();
  uint32_t* link = &root;
  while (*link != 0 && blocks[*link].first != (uintptr_t)block) {
    link = (uintptr_t)block < blocks[*link].first ? &blocks[*link].left : &blocks[*link].right;
  }
  const uint32_t node = *link;
  if (node != 0) {
    *link = merge(blocks[node].left, blocks[node].right);
    if (blocks[node].number >= 0) is_taken[blocks[node].number] = 0;
    blocks[node].left = unused;
    unused = node;
  }
  leave();
}

/* Returns the lowest free number, so that a block allocated in each iteration keeps its number. */
static int64_t free_number(void) {
  int64_t number = 0;
  while (number < MOST_NUMBERS && is_taken[number] != 0) ++number;
  if (number == MOST_NUMBERS) return -1;
  is_taken[number] = 1;
  return number;
}

bool tisim_find_allocation(const void* address, int64_t* number, size_t* place) {
  uint32_t found = 0;
  enter();
  for (uint32_t node = root; node != 0;) {
    const bool is_behind = blocks[node].first <= (uintptr_t)address;
    if (is_behind) found = node;
    node = is_behind ? blocks[node].right : blocks[node].left;
  }
  bool is_inside = false;
  if (found != 0) {
    struct block* const block = &blocks[found];
    *place = (uintptr_t)address - block->first;
    is_inside = *place < block->size;
    if (is_inside && block->number < 0) block->number = free_number();
    *number = block->number;
  }
  leave();
  return is_inside && *number >= 0;
}

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* block);

EXPORTED void* malloc(size_t size) { return allocated(__libc_malloc(size), size); }

EXPORTED void* calloc(size_t count, size_t size) {
  return allocated(__libc_calloc(count, size), count * size);
}

EXPORTED void* realloc(void* block, size_t size) {
  freed(block);
  void* const moved = __libc_realloc(block, size);
  /* On failure the old block remains; its size is no longer known. */
  return moved == NULL && size != 0 ? (allocated(block, 1), NULL) : allocated(moved, size);
}

EXPORTED void free(void* block) {
  freed(block);
  __libc_free(block);
}

EXPORTED void* memalign(size_t alignment, size_t size) {
  return allocated(__libc_memalign(alignment, size), size);
}

EXPORTED void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

EXPORTED int posix_memalign(void** block, size_t alignment, size_t size) {
  if (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) {
    return EINVAL;
  }
  void* const made_block = memalign(alignment, size);
  if (made_block == NULL) return ENOMEM;
  *block = made_block;
  return 0;
}
