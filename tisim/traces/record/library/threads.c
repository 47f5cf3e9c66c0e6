/* OpenMP threads in a computation.
 *
 * These functions hide those of GCC's OpenMP library that begin a parallel region, and let each
 * thread count its computation in the region. Threads created by the program are not covered. A
 * nested region counts for the thread that began it only if that thread's counter includes it. */
#include <stdio.h>
#include <stdlib.h>

#include "counting.h"
#include "fortran.h"
#include "places.h"

/* The function of a region's threads, and its data. */
struct region {
  void (*body)(void* data);
  void* data;
};

static void run(void* argument) {
  const struct region* const region = argument;
  const bool before = tisim_begin_region_samples();
  tisim_counter_restart();
  region->body(region->data);
  tisim_add_volume(tisim_counter_take(NULL));
  tisim_counter_restart();
  tisim_end_region_samples(before);
}

/* REGION(name, parameters, arguments): the functions that begin a region; `body` and `data` come
 * first in all of them. */
// clang-format off: it moves lists of macros to and fro
#define REGIONS(REGION)                                                                 \
  REGION(GOMP_parallel, (unsigned threads, unsigned flags), (threads, flags))           \
  REGION(GOMP_parallel_sections, (unsigned threads, unsigned sections, unsigned flags), \
         (threads, sections, flags))                                                    \
  LOOP(REGION, static)                                                                  \
  LOOP(REGION, dynamic)                                                                 \
  LOOP(REGION, guided)                                                                  \
  LOOP(REGION, nonmonotonic_dynamic)                                                    \
  LOOP(REGION, nonmonotonic_guided)                                                     \
  LOOP_AT_RUN_TIME(REGION, runtime)                                                     \
  LOOP_AT_RUN_TIME(REGION, nonmonotonic_runtime)                                        \
  LOOP_AT_RUN_TIME(REGION, maybe_nonmonotonic_runtime)
// clang-format on
#define LOOP(REGION, schedule)                                                             \
  REGION(GOMP_parallel_loop_##schedule,                                                    \
         (unsigned threads, long first, long last, long step, long chunk, unsigned flags), \
         (threads, first, last, step, chunk, flags))
#define LOOP_AT_RUN_TIME(REGION, schedule)                                     \
  REGION(GOMP_parallel_loop_##schedule,                                        \
         (unsigned threads, long first, long last, long step, unsigned flags), \
         (threads, first, last, step, flags))

#define WITHOUT_PARENTHESES(...) __VA_ARGS__
#define DEFINE(name, parameters, arguments)                                             \
  EXPORTED void name(void (*body)(void*), void* data, WITHOUT_PARENTHESES parameters);  \
  EXPORTED void name(void (*body)(void*), void* data, WITHOUT_PARENTHESES parameters) { \
    static void (*perform)(void (*)(void*), void*, WITHOUT_PARENTHESES parameters);     \
    if (perform == NULL) tisim_find_hidden(&perform, #name);                            \
    if (!tisim_begin_region(TISIM_CALLER)) {                                            \
      perform(body, data, WITHOUT_PARENTHESES arguments);                               \
      return;                                                                           \
    }                                                                                   \
    struct region region = {body, data};                                                \
    perform(run, &region, WITHOUT_PARENTHESES arguments);                               \
    tisim_counter_restart();                                                            \
  }
REGIONS(DEFINE)
