/* State of the recorder that its lower layers ask for: whether it records, and on which thread. */
#ifndef TISIM_STATE_H
#define TISIM_STATE_H

#include <pthread.h>
#include <stdbool.h>

/* For functions that hide those of other libraries. */
#define EXPORTED __attribute__((visibility("default")))

enum tisim_phase { TISIM_BEFORE, TISIM_RECORDING, TISIM_OVER };

/* Written by the session alone. */
struct tisim_state {
  enum tisim_phase phase;
  bool paused;
  pthread_t first_thread; /* that called MPI_Init */
};
extern struct tisim_state tisim_state;
/* 1: in a call of MPI, or in the recorder; 2: in one of MPI-IO whose calls of POSIX are recorded */
extern _Thread_local int tisim_depth;

/* True if this thread is in a call of MPI, or in the recorder. */
bool tisim_is_in_call(void);
/* True if this is the recorded thread, in the program's own code. */
bool tisim_is_recorded_thread(void);
/* True while calls are written: MPI_Pcontrol and tisim_record may pause the recording. */
bool tisim_is_active(void);

#endif
