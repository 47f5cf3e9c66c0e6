/* Arguments of MPI calls, as text: with `--arguments all` each line of a trace has them. */
#ifndef TISIM_ARGUMENTS_H
#define TISIM_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "writer.h"

/* From here on texts are made. */
void tisim_begin_arguments(void);
bool tisim_wants_arguments(void);
/* A function is entered. `parameters`: of each a letter, which says what it is (arguments.c), its
 * name and a comma. `values`: where each of them is; NULL: the function is left. */
void tisim_describe(const char* function, const char* parameters, const void* const* values);
/* MPI has come back: what it gives is there. */
void tisim_returned(void);
/* The call at hand has no line, or is one that is not to be kept: a failed test. A call that frees
 * something is kept before it does, unless a line has its text. */
void tisim_keep_call(void);
void tisim_keep_call_freeing(void);
void tisim_forget_call(void);
/* The number in the writer of the text of the call at hand, for the first line that it writes. */
int64_t tisim_arguments(tisim_writer* writer);
/* The numbers in the writer of the texts of all calls that were kept since the last line: so many,
 * at most TISIM_MOST_TEXTS. */
size_t tisim_kept_calls(tisim_writer* writer, int64_t* numbers);

/* allocations.c, which is left out unless arguments are recorded: whether an address is in memory
 * that the program has allocated, the number of that block, and where in it. */
bool tisim_find_allocation(const void* address, int64_t* number, size_t* place)
    __attribute__((weak));

#endif
