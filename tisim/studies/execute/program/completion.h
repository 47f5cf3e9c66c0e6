/* Waits and tests, and requests that are cancelled or freed. */
#ifndef TISIM_COMPLETION_H
#define TISIM_COMPLETION_H

#include "script.h"

void complete_one(const struct instruction *instruction);
void complete_several(const struct instruction *instruction);
void cancel_request(const struct instruction *instruction);
void free_request(const struct instruction *instruction);
/* At the end of a rank: it waits for all that is pending. */
void complete_all(void);

#endif
