/* Calls that a trace cannot express, counted by function. */
#ifndef TISIM_UNSUPPORTED_H
#define TISIM_UNSUPPORTED_H

#include <stddef.h>
#include <stdint.h>

void tisim_count_unsupported(const char* name, uint64_t calls);
/* Returns one line for each, sorted by name: "NAME CALLS\n", each after `prefix`. The caller frees
 * the text. */
char* tisim_list_unsupported(const char* prefix);
/* Adds the counts of such a list without prefixes. */
void tisim_add_unsupported(const char* list);

#endif
