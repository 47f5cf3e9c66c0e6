/* The stack of a thread, and the frames on it at the time of a signal. */
#ifndef TISIM_STACK_H
#define TISIM_STACK_H

#include <stdbool.h>

#define TISIM_MOST_FRAMES 128

/* The stack of the calling thread lies below this address. */
const char *tisim_end_of_stack(void);

/* In a handler of a signal: the addresses of the functions that the signal has interrupted, the
 * innermost first, as if each were one behind a call; returns their number. Calls nothing that a
 * handler may not call. `context`: the handler's third argument. */
int tisim_interrupted_frames(const void *context, const void **addresses);
/* Whether signals can be told where they have interrupted the program on this kind of processor. */
bool tisim_knows_interrupted_frames(void);

#endif
