/* Reading the environment. */
#include "settings.h"

#include <stdlib.h>
#include <string.h>

/* NULL where a variable is empty too: some launchers pass on what is not set as an empty text. A
 * copy, since the program may change its environment. */
static const char *value_of(const char *name) {
  const char *const value = getenv(name);
  return value == NULL || value[0] == '\0' ? NULL : strdup(value);
}

static bool is_asked_for(const char *name) {
  const char *const value = value_of(name);
  return value != NULL && strcmp(value, "0") != 0;
}

static uint64_t whole_number(const char *name) {
  const char *const value = value_of(name);
  return value == NULL ? 0 : strtoull(value, NULL, 10);
}

struct tisim_settings tisim_read_settings(void) {
  const char *const counter = value_of("TISIM_RECORD_COUNTER");
  const char *const speed = value_of("TISIM_RECORD_SPEED");
  const char *const tests = value_of("TISIM_RECORD_TESTS");
  const char *const io = value_of("TISIM_RECORD_IO");
  const struct tisim_settings settings = {
      .directory = value_of("TISIM_RECORD_DIRECTORY"),
      .output = value_of("TISIM_RECORD_OUTPUT"),
      .trace_library = value_of("TISIM_RECORD_LIBRARY"),
      .counter = counter == NULL ? "time" : counter,
      .further_counters = value_of("TISIM_RECORD_FURTHER_COUNTERS"),
      .reference_speed = speed == NULL ? 1e9 : strtod(speed, NULL),
      .keeps_failed_tests = tests != NULL && strcmp(tests, "all") == 0,
      .has_call_sites = is_asked_for("TISIM_RECORD_CALL_SITES"),
      .has_samples = is_asked_for("TISIM_RECORD_SAMPLE"),
      .has_times = is_asked_for("TISIM_RECORD_TIMES"),
      .has_timeline = is_asked_for("TISIM_RECORD_TIMELINE"),
      .has_mpi_io = io != NULL && (strcmp(io, "mpi") == 0 || strcmp(io, "both") == 0),
      .is_posix_only = io != NULL && strcmp(io, "posix") == 0,
      .memory = (size_t)whole_number("TISIM_RECORD_MEMORY"),
      .most_bytes = whole_number("TISIM_RECORD_MAX_SIZE"),
      .ranks = value_of("TISIM_RECORD_RANKS"),
  };
  return settings;
}

bool tisim_is_listed(const char *ranks, int rank) {
  while (*ranks != '\0') {
    char *end;
    const long first = strtol(ranks, &end, 10);
    if (end == ranks) return false; /* not a list */
    const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
    if (first <= rank && rank <= last) return true;
    ranks = *end == ',' ? end + 1 : end;
  }
  return false;
}
