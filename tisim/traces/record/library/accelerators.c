/* The time that a rank waits for an accelerator, which no counter counts.
 *
 * These functions hide CUDA's and HIP's waiting functions. A program that loads these libraries
 * with dlopen bypasses the recorder. */
#include <dlfcn.h>

#include "counting.h"
#include "state.h"
#include "timeline.h"

/* The error code of CUDA and HIP for unsupported functions. */
#define NOT_SUPPORTED 801

static uint64_t waited; /* nanoseconds */
static uint64_t begin;

void tisim_begin_accelerators(void) { begin = tisim_now(); }

int tisim_accelerator_percent(void) {
  const uint64_t all = tisim_now() - begin;
  return all == 0 ? 0 : (int)(100.0 * (double)waited / (double)all + 0.5);
}

/* None takes more than four integers or pointers. */
typedef int (*waiting_function)(uintptr_t, uintptr_t, uintptr_t, uintptr_t);

static int wait_in(const char* name, waiting_function* found, uintptr_t a, uintptr_t b, uintptr_t c,
                   uintptr_t d) {
  if (*found == NULL) {
    void* const hidden = dlsym(RTLD_NEXT, name);
    if (hidden == NULL) return NOT_SUPPORTED;
    *(void**)found = hidden;
  }
  if (!tisim_is_recorded_thread()) return (*found)(a, b, c, d);
  const uint64_t before = tisim_now();
  const int status = (*found)(a, b, c, d);
  waited += tisim_now() - before;
  return status;
}

#define WAITS(name)                                                       \
  EXPORTED int name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d);  \
  EXPORTED int name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) { \
    static waiting_function found;                                        \
    return wait_in(#name, &found, a, b, c, d);                            \
  }
WAITS(cudaDeviceSynchronize)
WAITS(cudaStreamSynchronize)
WAITS(cudaEventSynchronize)
WAITS(cudaMemcpy)
WAITS(cuCtxSynchronize)
WAITS(cuStreamSynchronize)
WAITS(cuEventSynchronize)
WAITS(hipDeviceSynchronize)
WAITS(hipStreamSynchronize)
WAITS(hipEventSynchronize)
WAITS(hipMemcpy)
