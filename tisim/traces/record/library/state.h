/* State of the recorder for its lower layers: whether it records, and on which thread. */
#ifndef TISIM_STATE_H
#define TISIM_STATE_H

#include <pthread.h>
#include <stdbool.h>

/* For functions that hide those of other libraries. */
#define EXPORTED __attribute__((visibility("default")))

enum tisim_phase { TISIM_BEFORE, TISIM_RECORDING, TISIM_OVER };

/* Written only by the session. */
struct tisim_state {
  enum tisim_phase phase;
  bool paused;
  pthread_t first_thread; /* the one that called MPI_Init */
};
extern struct tisim_state tisim_state;
/* 1: in an MPI call or in the recorder; 2: in an MPI-IO call whose POSIX calls are recorded. */
extern _Thread_local int tisim_depth;

/* True if this thread is in an MPI call or in the recorder. */
bool tisim_is_in_call(void);
/* True if this is the recorded thread, in the program's own code. */
bool tisim_is_recorded_thread(void);
/* True while calls are written: MPI_Pcontrol and tisim_record may pause the recording. */
bool tisim_is_active(void);

#endif
