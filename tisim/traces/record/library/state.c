#include "state.h"

struct tisim_state tisim_state = {.phase = TISIM_BEFORE};
_Thread_local int tisim_depth;

bool tisim_is_in_call(void) { return tisim_depth != 0 || tisim_state.phase != TISIM_RECORDING; }

bool tisim_is_recorded_thread(void) {
  return !tisim_is_in_call() && pthread_equal(pthread_self(), tisim_state.first_thread) != 0;
}

bool tisim_is_active(void) { return !tisim_state.paused; }
