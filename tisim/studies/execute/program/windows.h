/* The windows of the trace, by their numbers, and one-sided communication. */
#ifndef TISIM_WINDOWS_H
#define TISIM_WINDOWS_H

#include "script.h"

void call_window(const struct instruction* instruction);
/* At the end of a repetition. */
void free_windows(void);

#endif
