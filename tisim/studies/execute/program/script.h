/* Reads a script, an instruction at a time. tisim's core/trace/script/script.hpp has the layout. */
#ifndef TISIM_SCRIPT_H
#define TISIM_SCRIPT_H

#include <stdint.h>

#include "vocabulary.h"

struct instruction {
  int kind;
  int operation; /* of a collective */
  int flags;
  int communicator; /* by its number in the trace, 0: the world */
  int peer;
  int tag;
  int64_t bytes;
  double amount; /* of a computation or sleep */
  int64_t count; /* of `numbers` */
  int64_t* numbers;
};

/* The entry of the table of operations for an instruction's kind. */
static inline const struct kind_traits* traits_of(const struct instruction* instruction) {
  return &kind_traits[instruction->kind];
}

/* Opens the script of this rank; fails if it is of another number of ranks. */
void open_script(const char* directory);
void rewind_script(void);
/* The next instruction, good until the one after the next; NULL at the end. */
const struct instruction* next_instruction(uint32_t* line);

#endif
