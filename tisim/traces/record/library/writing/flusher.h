/* A thread that writes what was recorded once a second, also while the program computes for long.
 *
 * A process that a signal is to end (SIGTERM, SIGINT, SIGHUP; launchers send them when another rank
 * has aborted) writes first, if the program does not handle the signal itself. */
#ifndef TISIM_FLUSHER_H
#define TISIM_FLUSHER_H

#include <pthread.h>

/* Calls `flush` with `argument` once a second while it holds `lock`. There is one flusher. */
void tisim_start_flusher(void (*flush)(void *argument), void *argument, pthread_mutex_t *lock);
/* Not while the lock is held. */
void tisim_stop_flusher(void);

#endif
