/* Arguments of MPI calls as text: with `--arguments all`, each line of a trace has them. */
#ifndef TISIM_ARGUMENTS_H
#define TISIM_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "writer.h"

/* Enables texts from here on. */
void tisim_begin_arguments(void);
bool tisim_wants_arguments(void);
/* Describes the current call. `parameters`: for each a letter for its kind (arguments.c), its name
 * and a comma. `values`: the address of each; NULL when the function is left. */
void tisim_describe(const char* function, const char* parameters, const void* const* values);
/* Signals that MPI has returned and its outputs are available. */
void tisim_returned(void);
/* Defers the current call, which has no line, to the next line; tisim_forget_call drops one that is
 * not to be recorded: a failed test. A call that frees something is deferred before it does, unless
 * a line has its text. */
void tisim_defer_call(void);
void tisim_defer_freeing_call(void);
void tisim_forget_call(void);
/* Returns the writer's number of the current call's text, for the first line that it writes. */
int64_t tisim_arguments(tisim_writer* writer);
/* Stores the writer's numbers of the texts of all calls deferred since the last line; returns their
 * number, at most TISIM_MOST_TEXTS. */
size_t tisim_deferred_calls(tisim_writer* writer, int64_t* numbers);

/* allocations.c, linked only if arguments are recorded: returns whether an address is in memory
 * that the program has allocated, with the number of that block and the offset in it. */
bool tisim_find_allocation(const void* address, int64_t* number, size_t* place)
    __attribute__((weak));

#endif
