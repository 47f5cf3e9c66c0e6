/* The threads of OpenMP in a computation.
 *
 * The functions of GCC's OpenMP library that begin a parallel region are hidden by these, which let
 * each thread count what it computes in the region. Threads that a program makes itself are not
 * seen. A nested region counts for the thread that has begun it only where that thread's counter
 * does.
 *
 * A thread other than the one that called MPI_Init adds to a place of its own. Places are emptied
 * when a call is written: with MPI_THREAD_SERIALIZED another thread may do so, hence the atomic
 * operations. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "fortran.h"
#include "samples.h"

#define MOST_THREADS 4096

struct place {
  _Alignas(64) atomic_uint_least64_t volume;
};

static struct place places[MOST_THREADS];
static atomic_int place_count;
static atomic_bool has_regions;
static _Thread_local int my_place = -1;

/* What a thread of a region runs, and with which data. */
struct region {
  void (*body)(void *data);
  void *data;
};

void tisim_add_thread_volume(uint64_t volume) {
  if (my_place < 0) my_place = atomic_fetch_add(&place_count, 1);
  /* Threads beyond the last place share it. */
  const int place = my_place < MOST_THREADS ? my_place : MOST_THREADS - 1;
  atomic_fetch_add(&places[place].volume, volume);
  atomic_store(&has_regions, true);
}

struct tisim_threads tisim_take_threads(uint64_t first) {
  struct tisim_threads all = {first, first, first != 0};
  if (!atomic_load(&has_regions)) return all;
  atomic_store(&has_regions, false);
  const int count = atomic_load(&place_count);
  for (int i = 0; i < count && i < MOST_THREADS; ++i) {
    const uint64_t volume = atomic_exchange(&places[i].volume, 0);
    if (volume == 0) continue;
    ++all.count;
    all.sum += volume;
    if (volume > all.largest) all.largest = volume;
  }
  return all;
}

static void run(void *argument) {
  const struct region *const region = argument;
  const bool before = tisim_begin_region_samples();
  tisim_counter_restart();
  region->body(region->data);
  tisim_add_volume(tisim_counter_take(NULL));
  tisim_counter_restart();
  tisim_end_region_samples(before);
}

/* REGION(name, parameters, arguments): the functions that begin a region; `body` and `data` come
 * first in all of them. */
#define REGIONS(REGION)                                                                       \
  REGION(GOMP_parallel, (unsigned threads, unsigned flags), (threads, flags))                 \
  REGION(GOMP_parallel_sections, (unsigned threads, unsigned sections, unsigned flags),       \
         (threads, sections, flags))                                                          \
  LOOP(REGION, static) LOOP(REGION, dynamic) LOOP(REGION, guided)                             \
  LOOP(REGION, nonmonotonic_dynamic) LOOP(REGION, nonmonotonic_guided)                        \
  LOOP_AT_RUN_TIME(REGION, runtime) LOOP_AT_RUN_TIME(REGION, nonmonotonic_runtime)            \
  LOOP_AT_RUN_TIME(REGION, maybe_nonmonotonic_runtime)
#define LOOP(REGION, schedule)                                                                \
  REGION(GOMP_parallel_loop_##schedule,                                                       \
         (unsigned threads, long first, long last, long step, long chunk, unsigned flags),    \
         (threads, first, last, step, chunk, flags))
#define LOOP_AT_RUN_TIME(REGION, schedule)                                                    \
  REGION(GOMP_parallel_loop_##schedule,                                                       \
         (unsigned threads, long first, long last, long step, unsigned flags),                \
         (threads, first, last, step, flags))

#define WITHOUT_PARENTHESES(...) __VA_ARGS__
#define DEFINE(name, parameters, arguments)                                                   \
  EXPORTED void name(void (*body)(void *), void *data, WITHOUT_PARENTHESES parameters);       \
  EXPORTED void name(void (*body)(void *), void *data, WITHOUT_PARENTHESES parameters) {      \
    static void (*perform)(void (*)(void *), void *, WITHOUT_PARENTHESES parameters);         \
    if (perform == NULL) tisim_find_hidden(&perform, #name);                                  \
    if (!tisim_begin_region(TISIM_CALLER)) {                                                  \
      perform(body, data, WITHOUT_PARENTHESES arguments);                                     \
      return;                                                                                 \
    }                                                                                         \
    struct region region = {body, data};                                                      \
    perform(run, &region, WITHOUT_PARENTHESES arguments);                                     \
    tisim_counter_restart();                                                                  \
  }
REGIONS(DEFINE)
