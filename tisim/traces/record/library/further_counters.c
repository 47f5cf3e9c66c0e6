/* Reading of the additional counters.
 *
 * The first counter is read last before the program resumes, and first when it calls MPI: so it
 * does not count the reading of the others. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counting.h"

#define MOST_TERMS 8
#define LONGEST_NAME 64
#define EMPTY_COMPUTATIONS 255

/* The sum of events, or the processor time of the thread in nanoseconds. */
struct further_counter {
  char name[LONGEST_NAME];
  bool is_time;
  size_t terms;
  struct {
    struct tisim_perf_event event;
    uint64_t weight;
  } term[MOST_TERMS];
  uint64_t last;
  uint64_t empty_count; /* its count of an empty computation */
  uint64_t count;       /* since the last written computation */
  int64_t attribute;
};

static struct further_counter counters[TISIM_MOST_COUNTERS];
static size_t counter_count;
static uint64_t first_empty_count; /* the same for the counter of the volumes */

static uint64_t now(struct further_counter* counter) {
  if (counter->is_time) return tisim_thread_time();
  uint64_t sum = 0;
  for (size_t i = 0; i < counter->terms; ++i) {
    sum += counter->term[i].weight * tisim_read_perf_event(&counter->term[i].event);
  }
  return sum;
}

/* Opens the events of TYPE:CONFIG*WEIGHT+...; returns NULL, or a description of the error. */
static const char* open_events(struct further_counter* counter, const char* text) {
  while (*text != '\0') {
    char* end;
    if (counter->terms == MOST_TERMS) return "has too many events";
    const uint32_t type = (uint32_t)strtoul(text, &end, 10);
    if (end == text || *end != ':') return "is not a sum of events TYPE:CONFIG*WEIGHT";
    const uint64_t config = strtoull(end + 1, &end, 16);
    uint64_t weight = 1;
    if (*end == '*') weight = strtoull(end + 1, &end, 10);
    if (*end != '+' && *end != '\0') return "is not a sum of events TYPE:CONFIG*WEIGHT";
    counter->term[counter->terms].weight = weight;
    if (!tisim_open_perf_event(&counter->term[counter->terms].event, type, config)) {
      return "is not counted on this host";
    }
    ++counter->terms;
    text = *end == '+' ? end + 1 : end;
  }
  return NULL;
}

/* Adds the counter of NAME=WHAT; returns NULL, or a description of the error. */
static const char* add(char* text) {
  char* const what = strchr(text, '=');
  if (counter_count == TISIM_MOST_COUNTERS) return "exceeds the maximum number of counters";
  if (what == NULL || what - text >= LONGEST_NAME) return "is not NAME=EVENTS";
  *what = '\0';
  struct further_counter* const counter = &counters[counter_count];
  snprintf(counter->name, sizeof counter->name, "%s", text);
  counter->attribute = -1;
  counter->is_time = strcmp(what + 1, "time") == 0;
  const char* const wrong = counter->is_time ? NULL : open_events(counter, what + 1);
  if (wrong == NULL) ++counter_count;
  return wrong;
}

bool tisim_begin_further_counters(const char* list) {
  char* const copy = list == NULL ? NULL : strdup(list);
  const char* wrong = NULL;
  char* rest = copy;
  while (rest != NULL && wrong == NULL) {
    char* const text = rest;
    rest = strchr(rest, ',');
    if (rest != NULL) *rest++ = '\0';
    wrong = add(text);
    if (wrong != NULL) fprintf(stderr, "tisim record: the counter %s %s\n", text, wrong);
  }
  free(copy);
  return wrong == NULL;
}

void tisim_name_further_counters(tisim_writer* writer) {
  char line[TISIM_MOST_COUNTERS * (LONGEST_NAME + 2) + 32] = "beside the counter: ";
  size_t end = strlen(line);
  for (size_t i = 0; i < counter_count; ++i) {
    counters[i].attribute = tisim_writer_count_name(writer, counters[i].name);
    const char* const between = i == 0 ? "" : ", ";
    end += (size_t)snprintf(line + end, sizeof line - end, "%s%s", between, counters[i].name);
  }
  if (counter_count != 0) tisim_writer_comment(writer, line);
}

void tisim_take_further_counts(void) {
  for (size_t i = 0; i < counter_count; ++i) {
    struct further_counter* const counter = &counters[i];
    const uint64_t reading = now(counter);
    const uint64_t begin = counter->last + counter->empty_count;
    if (reading > begin) counter->count += reading - begin;
    counter->last = reading;
  }
}

void tisim_restart_further_counters(void) {
  for (size_t i = counter_count; i-- > 0;) counters[i].last = now(&counters[i]);
}

static int compare(const void* one, const void* other) {
  const uint64_t a = *(const uint64_t*)one;
  const uint64_t b = *(const uint64_t*)other;
  return (a > b) - (a < b);
}

static uint64_t median(uint64_t counts[EMPTY_COMPUTATIONS]) {
  qsort(counts, EMPTY_COMPUTATIONS, sizeof *counts, compare);
  return counts[EMPTY_COMPUTATIONS / 2];
}

void tisim_measure_empty_computation(void) {
  static uint64_t first[EMPTY_COMPUTATIONS];
  static uint64_t further[TISIM_MOST_COUNTERS][EMPTY_COMPUTATIONS];
  for (size_t n = 0; n < EMPTY_COMPUTATIONS; ++n) {
    tisim_restart_further_counters();
    tisim_counter_restart();
    first[n] = tisim_counter_take(NULL);
    tisim_take_further_counts();
    for (size_t i = 0; i < counter_count; ++i) {
      further[i][n] = counters[i].count;
      counters[i].count = 0;
    }
  }
  first_empty_count = tisim_set_empty_computation(median(first));
  for (size_t i = 0; i < counter_count; ++i) counters[i].empty_count = median(further[i]);
}

void tisim_note_empty_computation(FILE* notes, const char* first) {
  fprintf(notes, "empty %" PRIu64 " %s\n", first_empty_count, first);
  for (size_t i = 0; i < counter_count; ++i) {
    fprintf(notes, "empty %" PRIu64 " %s\n", counters[i].empty_count, counters[i].name);
  }
}

void tisim_write_further_counts(tisim_writer* writer) {
  for (size_t i = 0; i < counter_count; ++i) {
    if (writer != NULL && counters[i].attribute >= 0) {
      tisim_writer_count(writer, counters[i].attribute, (int64_t)counters[i].count);
    }
    counters[i].count = 0;
  }
}

void tisim_copy_further_counts(uint64_t counts[]) {
  for (size_t i = 0; i < counter_count; ++i) counts[i] = counters[i].count;
}

void tisim_lower_further_counts(const uint64_t counts[]) {
  for (size_t i = 0; i < counter_count; ++i) counters[i].count = counts[i];
}
