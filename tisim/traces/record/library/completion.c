/* Waits and tests.
 *
 * How often a test fails depends on the machine. So a successful test is written as a wait, and a
 * failed one only where the user asks for it.
 *
 * All requests that are known here are in the trace. So what completes or frees one is written even
 * while the recording is paused: its number is used again. */
#include <stdio.h>
#include <stdlib.h>

#include "record.h"

/* The requests of the current call, in the order of the program; NULL where nothing is written of
 * one: it is null, inactive, or of a call that is not recorded. */
static struct tisim_request **listed;
static size_t listed_room;
static int listed_count;
static bool needs_statuses;
static MPI_Status *own_statuses;
static size_t own_statuses_room;

static void *grown(void *memory, size_t size) {
  void *const larger = realloc(memory, size);
  if (larger == NULL) {
    fprintf(stderr, "tisim record: there is no memory left\n");
    abort();
  }
  return larger;
}

void tisim_before_completion(int count, const MPI_Request *requests, const void *variables,
                             size_t stride) {
  listed_count = count > 0 ? count : 0;
  needs_statuses = false;
  if ((size_t)listed_count > listed_room) {
    listed_room = 2 * (size_t)listed_count;
    listed = grown(listed, listed_room * sizeof(*listed));
  }
  tisim_begin_list();
  for (int i = 0; i < listed_count; ++i) {
    listed[i] = NULL;
    if (requests[i] == MPI_REQUEST_NULL) continue;
    const void *const variable = (const char *)variables + (size_t)i * stride;
    struct tisim_request *const request = tisim_request_find(requests[i], variable);
    if (request == NULL || !request->active) continue;
    listed[i] = request;
    if (request->from_any || request->is_marked) needs_statuses = true;
  }
}

bool tisim_needs_statuses(void) { return needs_statuses; }

MPI_Status *tisim_statuses(MPI_Status *statuses, const MPI_Status *ignored, int count,
                           bool needed) {
  if (statuses != ignored || !needed || count <= 0) return statuses;
  if ((size_t)count > own_statuses_room) {
    own_statuses_room = 2 * (size_t)count;
    own_statuses = grown(own_statuses, own_statuses_room * sizeof *own_statuses);
  }
  return own_statuses;
}

static size_t put_numbers(const struct tisim_request *request, int64_t *numbers) {
  if (request->number < 0) return 0;
  numbers[0] = request->number;
  for (size_t i = 0; i < request->more_count; ++i) numbers[1 + i] = request->more[i];
  return 1 + request->more_count;
}

/* Writes a wait for all parts of a call that is written as several. */
static void write_parts(const struct tisim_request *request) {
  int64_t *const numbers = tisim_numbers(1 + request->more_count);
  struct tisim_named named = tisim_on(0);
  named.requests = numbers;
  named.request_count = put_numbers(request, numbers);
  if (named.request_count != 0) tisim_write(TISIM_waitall, NULL, 0, &named, true);
}

static bool is_one(const struct tisim_request *request) {
  return request->number >= 0 && request->more_count == 0;
}

/* Whether an action that names requests is more than a failed test. */
static bool completes(enum tisim_word word) {
  return word == TISIM_waitall || word == TISIM_waitany || word == TISIM_waitsome;
}

/* Writes a wait for, or a test of, the listed requests. Those of calls that are written as several
 * are left out where one of the others may suffice. */
static void write_list(enum tisim_word word, int64_t source) {
  const bool needs_all = word == TISIM_waitall || word == TISIM_testall;
  size_t most = 0;
  for (int i = 0; i < listed_count; ++i) {
    if (listed[i] != NULL) most += 1 + listed[i]->more_count;
  }
  if (most == 0) return;
  int64_t *const numbers = tisim_numbers(most);
  size_t known = 0;
  for (int i = 0; i < listed_count; ++i) {
    if (listed[i] == NULL || (!needs_all && !is_one(listed[i]))) continue;
    known += put_numbers(listed[i], numbers + known);
  }
  if (known == 0) return;
  struct tisim_named named = tisim_on(0);
  named.requests = numbers;
  named.request_count = known;
  named.source = source;
  tisim_write(word, NULL, 0, &named, completes(word));
}

static void write_one(enum tisim_word word, const struct tisim_request *request) {
  struct tisim_named named = tisim_on(0);
  named.request = request->number;
  tisim_write(word, NULL, 0, &named, true);
}

/* A request is complete. If the program has cancelled it, the status says whether it succeeded. */
static void settle(struct tisim_request *request, const MPI_Status *status) {
  int cancelled = 0;
  if (!request->is_marked) return;
  request->is_marked = false;
  PMPI_Test_cancelled(status, &cancelled);
  if (!cancelled) return;
  request->from_any = false;
  write_one(TISIM_cancel, request);
}

/* Of the message that a receive from any source has matched, which is told; -1: there is none. */
static int64_t source_of(int index, const MPI_Status *status) {
  if (!needs_statuses || status == NULL || !listed[index]->from_any) return -1;
  const int64_t source = status->MPI_SOURCE + listed[index]->source_offset;
  tisim_write_matched(listed[index]->ticket, source);
  return source;
}

void tisim_after_one(bool is_test, bool done, const MPI_Status *status) {
  if (listed_count == 0 || listed[0] == NULL || (!done && !tisim_keeps_failed_tests())) return;
  if (!is_one(listed[0])) {
    if (done) {
      write_parts(listed[0]);
      tisim_request_done(listed[0]);
    }
    return;
  }
  if (done && status != NULL) settle(listed[0], status);
  struct tisim_named named = tisim_on(0);
  named.request = listed[0]->number;
  if (done) named.source = source_of(0, status);
  tisim_write(is_test && !done ? TISIM_test : TISIM_wait, NULL, 0, &named, done);
  if (done) tisim_request_done(listed[0]);
}

void tisim_after_all(bool is_test, bool done, const MPI_Status *statuses) {
  if (!done) {
    if (tisim_keeps_failed_tests()) write_list(TISIM_testall, -1);
    return;
  }
  (void)is_test;
  int64_t source = -1;
  for (int i = 0; i < listed_count; ++i) {
    if (listed[i] != NULL && statuses != NULL) settle(listed[i], &statuses[i]);
    const int64_t own = listed[i] != NULL && statuses != NULL ? source_of(i, &statuses[i]) : -1;
    if (source < 0) source = own;
  }
  write_list(TISIM_waitall, source);
  for (int i = 0; i < listed_count; ++i) {
    if (listed[i] != NULL) tisim_request_done(listed[i]);
  }
}

void tisim_after_any(bool is_test, bool done, int index, const MPI_Status *status) {
  if (!done) {
    if (is_test && tisim_keeps_failed_tests()) write_list(TISIM_testany, -1);
    return;
  }
  if (index < 0 || index >= listed_count || listed[index] == NULL) return;
  if (status != NULL) settle(listed[index], status);
  if (is_one(listed[index])) {
    write_list(TISIM_waitany, source_of(index, status));
  } else {
    write_parts(listed[index]);
  }
  tisim_request_done(listed[index]);
}

void tisim_after_some(bool is_test, int count, const int *indices, int first,
                      const MPI_Status *statuses) {
  if (count == MPI_UNDEFINED) return;
  if (count == 0) {
    if (is_test && tisim_keeps_failed_tests()) write_list(TISIM_testsome, -1);
    return;
  }
  int64_t source = -1;
  bool known = false;
  for (int i = 0; i < count; ++i) {
    const int index = indices[i] - first;
    if (listed[index] == NULL) continue;
    if (!is_one(listed[index])) {
      write_parts(listed[index]);
      continue;
    }
    known = true;
    if (statuses != NULL) settle(listed[index], &statuses[i]);
    const int64_t own = statuses != NULL ? source_of(index, &statuses[i]) : -1;
    if (source < 0) source = own;
  }
  if (known) write_list(TISIM_waitsome, source);
  for (int i = 0; i < count; ++i) {
    struct tisim_request **const request = &listed[indices[i] - first];
    if (*request != NULL) tisim_request_done(*request);
    *request = NULL;
  }
}

/* A call that is written as several, a collective, is only forgotten: MPI does not allow to free
 * its request. */
void tisim_before_request_free(MPI_Request request, const void *variable) {
  tisim_begin_list();
  struct tisim_request *const freed = tisim_request_find(request, variable);
  if (freed == NULL) return;
  if (is_one(freed)) write_one(TISIM_request_free, freed);
  tisim_request_forget(freed);
}

/* Only a cancellation that has succeeded is written. MPI knows at once of a receive, and of a send
 * perhaps only when its request is complete. */
void tisim_after_cancel(MPI_Request request, const void *variable) {
  tisim_begin_list();
  struct tisim_request *const marked = tisim_request_find(request, variable);
  if (marked == NULL || !marked->active || !is_one(marked)) return;
  MPI_Status status;
  int done = 0;
  marked->is_marked = PMPI_Request_get_status(request, &done, &status) == MPI_SUCCESS;
  if (done) settle(marked, &status);
}
