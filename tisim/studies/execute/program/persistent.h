/* Persistent requests: made once, started many times. */
#ifndef TISIM_PERSISTENT_H
#define TISIM_PERSISTENT_H

#include "script.h"

/* A send_init or recv_init. */
void make_persistent(const struct instruction *instruction);
/* The one that was made last gets a number. */
void number_last_persistent(int number);
void start_persistent(const struct instruction *instruction);
void start_all_persistent(const struct instruction *instruction);
/* The request that a start has made is complete. */
void end_persistent(int index);
/* The one at an index, whose start, if it is active, has been left to itself. */
void free_one_persistent(int index);
/* The one that a request_free names, which is not active. */
void free_inactive_persistent(const struct instruction *instruction);
/* At the end of a repetition. */
void free_persistent(void);

#endif
