/* The calls that a trace cannot express, by function. */
#ifndef TISIM_UNSUPPORTED_H
#define TISIM_UNSUPPORTED_H

#include <stddef.h>
#include <stdint.h>

void tisim_count_unsupported(const char* name, uint64_t calls);
/* One line each, in the order of the names: "NAME CALLS\n", each behind `prefix`. The caller frees
 * the text. */
char* tisim_list_unsupported(const char* prefix);
/* Counts what such a list says, which has no prefix. */
void tisim_add_unsupported(const char* list);

#endif
