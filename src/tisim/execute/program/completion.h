/* Waits and tests. */
#ifndef TISIM_COMPLETION_H
#define TISIM_COMPLETION_H

#include "script.h"

void complete_one(const struct instruction *instruction);
void complete_several(const struct instruction *instruction);
/* At the end of a rank: it waits for all that is pending. */
void complete_all(void);

#endif
