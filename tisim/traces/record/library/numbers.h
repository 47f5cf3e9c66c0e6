/* Growing memory, and reusable numbers. The program ends when memory is exhausted. */
#ifndef TISIM_NUMBERS_H
#define TISIM_NUMBERS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void* tisim_checked(void* memory) {
  if (memory == NULL) {
    fprintf(stderr, "tisim record: out of memory\n");
    abort();
  }
  return memory;
}

struct tisim_buffer {
  void* memory;
  size_t size;
};

/* Returns room for `size` bytes, with the previous contents. */
static inline void* tisim_buffer(struct tisim_buffer* buffer, size_t size) {
  if (size > buffer->size) {
    buffer->size = 2 * size;
    buffer->memory = tisim_checked(realloc(buffer->memory, buffer->size));
  }
  return buffer->memory;
}

/* Numbers from 0 on. Loop iterations reuse the same ones, since the lowest free one is taken. */
struct tisim_numbers_in_use {
  uint64_t* bits; /* one per number */
  size_t words;
  size_t first_free; /* all earlier words are full */
};

static inline void tisim_grow_numbers(struct tisim_numbers_in_use* used, size_t words) {
  if (words <= used->words) return;
  used->bits = tisim_checked(realloc(used->bits, words * sizeof *used->bits));
  memset(used->bits + used->words, 0, (words - used->words) * sizeof *used->bits);
  used->words = words;
}

static inline void tisim_use_number(struct tisim_numbers_in_use* used, int64_t number) {
  used->bits[(uint64_t)number / 64] |= UINT64_C(1) << ((uint64_t)number % 64);
}

static inline int64_t tisim_take_number(struct tisim_numbers_in_use* used) {
  size_t word = used->first_free;
  while (word < used->words && used->bits[word] == UINT64_MAX) ++word;
  used->first_free = word;
  if (word == used->words) tisim_grow_numbers(used, 2 * word + 1);
  const int bit = __builtin_ctzll(~used->bits[word]);
  used->bits[word] |= UINT64_C(1) << bit;
  return (int64_t)(64 * word) + bit;
}

static inline void tisim_release_number(struct tisim_numbers_in_use* used, int64_t number) {
  const size_t word = (size_t)number / 64;
  used->bits[word] &= ~(UINT64_C(1) << ((uint64_t)number % 64));
  if (word < used->first_free) used->first_free = word;
}

#endif
