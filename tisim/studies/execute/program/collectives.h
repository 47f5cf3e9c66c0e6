/* Collective calls, blocking and not. */
#ifndef TISIM_COLLECTIVES_H
#define TISIM_COLLECTIVES_H

#include "script.h"

void call_collective(const struct instruction* instruction);

#endif
