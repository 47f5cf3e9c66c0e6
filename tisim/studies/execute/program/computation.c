#include <sys/prctl.h>

#include "execute.h"

/* A rank wakes some 50 us late, and short computations are frequent: each is added to a debt, which
 * is slept once it is long enough. Excess sleep is deducted, up to a millisecond. */
#define MIN_SLEEP 50e-6
#define MAX_CREDIT 1e-3

static double debt;
static double measured_speed;
static double rehearsed; /* seconds */

static void sleep_debt(double seconds) {
  debt += seconds;
  if (debt < MIN_SLEEP) return;
  const double begin = now();
  sleep_until(begin + debt);
  debt -= now() - begin;
  if (debt < -MAX_CREDIT) debt = -MAX_CREDIT;
}

static void spin(double seconds) {
  const double end = now() + seconds;
  while (now() < end) {
  }
}

/* Executes `count` instructions, two per iteration. */
static void execute_instructions(double count) {
  uint64_t turns = (uint64_t)(count / 2);
  if (turns == 0) return;
#if defined(__x86_64__)
  __asm__ volatile("1:\n\tsub $1, %0\n\tjnz 1b" : "+r"(turns) : : "cc");
#elif defined(__aarch64__)
  __asm__ volatile("1:\n\tsubs %0, %0, #1\n\tb.ne 1b" : "+r"(turns) : : "cc");
#else
  fail("compute=instructions is not supported on this processor; use spin");
#endif
}

void prepare_computations(void) {
  prctl(PR_SET_TIMERSLACK, 1UL); /* sleeps end on time */
  debt = 0;
  if (program.options.compute != COMPUTE_INSTRUCTIONS) return;
  const double begin = now();
  execute_instructions(2e7);
  measured_speed = 2e7 / (now() - begin);
}

double computing_time(void) { return rehearsed; }

double loop_speed(void) { return measured_speed; }

void compute(const struct instruction* instruction) {
  const double volume = instruction->amount;
  if (program.rehearsing) {
    if (program.options.compute != COMPUTE_NONE) rehearsed += volume / program.options.speed;
    return;
  }
  switch (program.options.compute) {
    case COMPUTE_NONE:
      return;
    case COMPUTE_SLEEP:
      sleep_debt(volume / program.options.speed);
      return;
    case COMPUTE_SPIN:
      spin(volume / program.options.speed);
      return;
    case COMPUTE_INSTRUCTIONS:
      execute_instructions(volume);
      return;
  }
}

void sleep_for(const struct instruction* instruction) {
  const double seconds = instruction->amount;
  if (program.options.compute == COMPUTE_NONE) return;
  if (program.rehearsing)
    rehearsed += seconds;
  else
    sleep_debt(seconds);
}
