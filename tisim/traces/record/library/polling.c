/* Polling: rounds of a program that repeatedly tests whether something has happened.
 *
 * The number of tests depends on the machine. So the interval between two tests of one kind, the
 * first of which failed, is not computation if it is too short for the program to do anything else.
 * Between the two there may be failed tests of other kinds, but no written call. */
#include "counting.h"

#define MOST_QUESTIONS 16

/* The program's failed tests since the last line of the trace. */
struct question {
  uint64_t key;
  uint64_t volume; /* computation between that line and the test, without polling */
  uint64_t counts[TISIM_MOST_COUNTERS];
};

static struct question questions[MOST_QUESTIONS];
static size_t question_count;
static size_t oldest;        /* replaced by the next one if the table is full */
static uint64_t asked_after; /* number of lines */
static uint64_t rounds;      /* of polling; and their total volume */
static uint64_t polled;

static struct question* find(uint64_t key) {
  for (size_t i = 0; i < question_count; ++i) {
    if (questions[i].key == key) return &questions[i];
  }
  return NULL;
}

static struct question* add(uint64_t key) {
  struct question* const added = &questions[oldest];
  oldest = (oldest + 1) % MOST_QUESTIONS;
  if (question_count < MOST_QUESTIONS) ++question_count;
  added->key = key;
  return added;
}

uint64_t tisim_without_polling(uint64_t key, bool answer, uint64_t lines, uint64_t volume,
                               uint64_t most) {
  if (asked_after != lines) {
    asked_after = lines;
    question_count = 0;
    oldest = 0;
  }
  struct question* question = find(key);
  if (question != NULL && volume <= question->volume + most) {
    ++rounds;
    if (volume > question->volume) {
      polled += volume - question->volume;
      volume = question->volume;
      tisim_lower_further_counts(question->counts);
    }
  }
  if (answer) return volume;
  if (question == NULL) question = add(key);
  question->volume = volume;
  tisim_copy_further_counts(question->counts);
  return volume;
}

void tisim_note_polling(FILE* notes) {
  if (rounds == 0) return;
  fprintf(notes, "polls %llu\npolled %llu\n", (unsigned long long)rounds,
          (unsigned long long)polled);
}
