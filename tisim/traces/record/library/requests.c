/* Requests: the number of each in the trace.
 *
 * A number is reused as soon as its request is done, lowest free one first, so that the iterations
 * of a loop use the same numbers. */
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "numbers.h"
#include "record.h"

#define FIRST_BUCKETS 1024 /* a power of two, like all bucket counts */

/* Maximum requests of one handle to compare by variable; beyond that the oldest one is taken. */
#define MOST_COMPARED 32

/* The requests of one handle, oldest first. There are several if MPI gives requests that complete
 * immediately the same handle. */
struct group {
  uintptr_t handle;
  struct tisim_request* first;
  struct tisim_request* last;
  struct group* next;
};

static struct group** buckets;
static size_t bucket_count;
static size_t group_count;
static struct group* unused_groups; /* free list of records */
static struct tisim_request* unused;
static uint64_t list; /* the current list of requests */

static struct tisim_numbers_in_use numbers;

static struct group** bucket_of(uintptr_t handle) {
  const uint64_t mixed = (uint64_t)handle * UINT64_C(0x9E3779B97F4A7C15);
  return &buckets[(mixed >> 20) & (bucket_count - 1)];
}

static void grow(void) {
  struct group** const old = buckets;
  const size_t old_count = bucket_count;
  bucket_count = old_count == 0 ? FIRST_BUCKETS : 2 * old_count;
  buckets = tisim_checked(calloc(bucket_count, sizeof *buckets));
  for (size_t i = 0; i < old_count; ++i) {
    for (struct group *group = old[i], *next; group != NULL; group = next) {
      struct group** const bucket = bucket_of(group->handle);
      next = group->next;
      group->next = *bucket;
      *bucket = group;
    }
  }
  free(old);
}

static struct group* find_group(uintptr_t handle) {
  if (bucket_count == 0) return NULL;
  struct group* group = *bucket_of(handle);
  while (group != NULL && group->handle != handle) group = group->next;
  return group;
}

static struct group* add_group(uintptr_t handle) {
  if (group_count >= bucket_count) grow();
  struct group* group = unused_groups;
  if (group == NULL) {
    group = tisim_checked(malloc(sizeof *group));
  } else {
    unused_groups = group->next;
  }
  struct group** const bucket = bucket_of(handle);
  group->handle = handle;
  group->first = NULL;
  group->last = NULL;
  group->next = *bucket;
  *bucket = group;
  ++group_count;
  return group;
}

static void append(struct group* group, struct tisim_request* request) {
  request->group = group;
  request->next = NULL;
  request->previous = group->last;
  *(group->last == NULL ? &group->first : &group->last->next) = request;
  group->last = request;
}

static void unlink_request(struct tisim_request* request) {
  struct group* const group = request->group;
  *(request->previous == NULL ? &group->first : &request->previous->next) = request->next;
  *(request->next == NULL ? &group->last : &request->next->previous) = request->previous;
}

static void remove_request(struct tisim_request* request) {
  struct group* const group = request->group;
  unlink_request(request);
  free(request->more);
  free(request->kept);
  request->next = unused;
  unused = request;
  if (group->first != NULL) return;
  struct group** link = bucket_of(group->handle);
  while (*link != group) link = &(*link)->next;
  *link = group->next;
  group->next = unused_groups;
  unused_groups = group;
  --group_count;
}

struct tisim_request* tisim_request_add(MPI_Request handle, const void* variable) {
  struct tisim_request* request = unused;
  if (request == NULL) {
    request = tisim_checked(malloc(sizeof *request));
  } else {
    unused = request->next;
  }
  memset(request, 0, sizeof *request);
  request->variable = variable;
  request->number = tisim_take_number(&numbers);
  request->active = true;
  request->ticket = -1;
  struct group* group = find_group((uintptr_t)handle);
  if (group == NULL) group = add_group((uintptr_t)handle);
  append(group, request);
  return request;
}

struct tisim_request* tisim_request_add_several(MPI_Request handle, const void* variable,
                                                size_t count) {
  struct tisim_request* const request = tisim_request_add(handle, variable);
  if (count == 0) {
    tisim_release_number(&numbers, request->number);
    request->number = -1;
  }
  if (count <= 1) return request;
  request->more = tisim_checked(malloc((count - 1) * sizeof *request->more));
  request->more_count = count - 1;
  for (size_t i = 0; i < request->more_count; ++i) request->more[i] = tisim_take_number(&numbers);
  return request;
}

void tisim_request_keep(MPI_Request handle, const void* variable, enum tisim_word word,
                        int64_t comm, int parts, const int64_t* arguments, size_t count) {
  struct tisim_kept_call* const kept =
      tisim_checked(malloc(sizeof *kept + count * sizeof *arguments));
  *kept = (struct tisim_kept_call){.word = word, .comm = comm, .parts = parts, .count = count};
  if (count != 0) memcpy(kept->arguments, arguments, count * sizeof *arguments);
  struct tisim_request* const request = tisim_request_add(handle, variable);
  request->persistent = true;
  request->active = false;
  request->kept = kept;
}

void tisim_write_kept(const struct tisim_request* request) {
  const struct tisim_kept_call* const kept = request->kept;
  struct tisim_named named = tisim_on(kept->comm);
  named.request = request->number;
  tisim_write(kept->word, kept->arguments, kept->count, &named, false);
}

static void give_back_all(struct tisim_request* request) {
  if (request->number >= 0) tisim_release_number(&numbers, request->number);
  for (size_t i = 0; i < request->more_count; ++i) tisim_release_number(&numbers, request->more[i]);
}

int64_t tisim_number_of_request(MPI_Request handle) {
  const struct group* const group = find_group((uintptr_t)handle);
  return group == NULL ? -1 : group->first->number;
}

void tisim_begin_list(void) { ++list; }

struct tisim_request* tisim_request_find(MPI_Request handle, const void* variable) {
  struct group* const group = find_group((uintptr_t)handle);
  if (group == NULL) return NULL;
  struct tisim_request* found = NULL;
  struct tisim_request* request = group->first;
  for (int compared = 0; request != NULL && compared < MOST_COMPARED; request = request->next) {
    if (request->listed == list) break; /* so are all that follow */
    if (found == NULL) found = request;
    if (request->variable == variable) {
      found = request;
      break;
    }
    ++compared;
  }
  if (found != NULL) {
    found->listed = list;
    unlink_request(found);
    append(group, found);
  }
  return found;
}

void tisim_request_done(struct tisim_request* request) {
  request->active = false;
  if (request->persistent) return;
  if (request->made != NULL) tisim_after_request_of_comm(request);
  give_back_all(request);
  remove_request(request);
}

void tisim_request_forget(struct tisim_request* request) {
  if (!request->active || request->more_count == 0) give_back_all(request);
  remove_request(request);
}

/* Waits and tests.
 *
 * How often a test fails depends on the machine. So a successful test is written as a wait, and a
 * failed one only on request. MPI_Request_get_status is a test, after which the program's own wait
 * has no effect.
 *
 * All requests registered here are in the trace. So their completion or freeing is written even
 * while the recording is paused: their numbers are reused. */

/* The requests of the current call, in program order; NULL for one that is not written because it
 * is null, inactive, or of an unrecorded call. */
static struct tisim_request** listed;
static int listed_count;
static bool needs_statuses;
static const int* places; /* indices in the list of the statuses; NULL: all */
static int places_first;

void tisim_before_completion(int count, const MPI_Request* requests, const void* variables,
                             size_t stride) {
  listed_count = count > 0 ? count : 0;
  needs_statuses = false;
  places = NULL;
  static struct tisim_buffer buffer;
  listed = tisim_buffer(&buffer, (size_t)listed_count * sizeof *listed);
  tisim_begin_list();
  for (int i = 0; i < listed_count; ++i) {
    listed[i] = NULL;
    if (requests[i] == MPI_REQUEST_NULL) continue;
    const void* const variable = (const char*)variables + (size_t)i * stride;
    struct tisim_request* const request = tisim_request_find(requests[i], variable);
    if (request == NULL || !request->active) continue;
    listed[i] = request;
    if (request->from_any || request->is_marked) needs_statuses = true;
  }
}

/* Also NULL for an invalid index: with `use mpi_f08`, MPICH 4.0 returns indices from 0. */
static struct tisim_request* listed_at(int index) {
  return index < 0 || index >= listed_count ? NULL : listed[index];
}

bool tisim_status_is_empty(int place) {
  const int index = places == NULL ? place : places[place] - places_first;
  const struct tisim_request* const request = listed_at(index);
  return request != NULL && !request->is_receive;
}

bool tisim_needs_statuses(void) { return needs_statuses; }

MPI_Status* tisim_statuses(MPI_Status* statuses, const MPI_Status* ignored, int count,
                           bool needed) {
  if (statuses != ignored || !needed || count <= 0) return statuses;
  static struct tisim_buffer buffer;
  return tisim_buffer(&buffer, (size_t)count * sizeof(MPI_Status));
}

static size_t put_numbers(const struct tisim_request* request, int64_t* numbers) {
  if (request->number < 0) return 0;
  numbers[0] = request->number;
  for (size_t i = 0; i < request->more_count; ++i) numbers[1 + i] = request->more[i];
  return 1 + request->more_count;
}

/* Writes a wait for all parts of a call that is written as several. */
static void write_parts(const struct tisim_request* request) {
  int64_t* const numbers = tisim_numbers(1 + request->more_count);
  struct tisim_named named = tisim_on(0);
  named.requests = numbers;
  named.request_count = put_numbers(request, numbers);
  if (named.request_count != 0) tisim_write(TISIM_waitall, NULL, 0, &named, true);
}

static bool is_one(const struct tisim_request* request) {
  return request->number >= 0 && request->more_count == 0;
}

/* True if an action that names requests is more than a failed test. */
static bool completes(enum tisim_word word) {
  return word == TISIM_waitall || word == TISIM_waitany || word == TISIM_waitsome;
}

/* The listed requests completed by a call: `count` of them, at `indices` counted from `first`. */
struct completed {
  const int* indices;
  int count;
  int first;
};
static const struct completed nothing = {NULL, 0, 0};

static bool is_in_layer(const struct tisim_request* request, enum tisim_layer layer) {
  return layer != TISIM_LAYER_POSIX || !request->is_of_file;
}

/* Beneath MPI-IO there are no waits for its requests. */
static void write_list_of(enum tisim_layer layer, enum tisim_word word, int64_t source,
                          struct completed completed) {
  const bool needs_all = word == TISIM_waitall || word == TISIM_testall;
  size_t most = (size_t)completed.count;
  for (int i = 0; i < listed_count; ++i) {
    if (listed[i] != NULL) most += 1 + listed[i]->more_count;
  }
  if (most == 0) return;
  int64_t* const numbers = tisim_numbers(most);
  struct tisim_named named = tisim_on(0);
  named.layer = layer;
  named.requests = numbers;
  named.source = source;
  for (int i = 0; i < listed_count; ++i) {
    if (listed[i] == NULL || !is_in_layer(listed[i], layer) || (!needs_all && !is_one(listed[i])))
      continue;
    named.request_count += put_numbers(listed[i], numbers + named.request_count);
  }
  if (named.request_count == 0) return;
  int64_t* const done = numbers + named.request_count;
  for (int i = 0; i < completed.count; ++i) {
    const struct tisim_request* const request = listed_at(completed.indices[i] - completed.first);
    if (request == NULL || !is_one(request) || !is_in_layer(request, layer)) continue;
    done[named.completed_count++] = request->number;
  }
  if (completed.count != 0 && named.completed_count == 0) return;
  named.completed = done;
  tisim_write(word, NULL, 0, &named, completes(word));
}

static enum tisim_layer layer_of(const struct tisim_request* request) {
  return request->is_of_file ? tisim_upper_layer() : TISIM_ALL_LAYERS;
}

/* Writes a wait for, or a test of, the listed requests. Those of calls that are written as several
 * are left out if one of the others may suffice. */
static void write_list(enum tisim_word word, int64_t source, struct completed completed) {
  enum tisim_layer layer = TISIM_ALL_LAYERS;
  for (int i = 0; i < listed_count; ++i) {
    if (listed[i] != NULL && layer_of(listed[i]) != TISIM_ALL_LAYERS) layer = TISIM_LAYER_MPI;
  }
  write_list_of(layer, word, source, completed);
  if (layer != TISIM_ALL_LAYERS) write_list_of(TISIM_LAYER_POSIX, word, source, completed);
}

static void write_one(enum tisim_word word, const struct tisim_request* request) {
  struct tisim_named named = tisim_on(0);
  named.request = request->number;
  named.layer = layer_of(request);
  tisim_write(word, NULL, 0, &named, true);
}

/* Completes a request. If the program cancelled it, its status tells whether that succeeded. */
static void settle(struct tisim_request* request, const MPI_Status* status) {
  int cancelled = 0;
  if (!request->is_marked) return;
  request->is_marked = false;
  PMPI_Test_cancelled(status, &cancelled);
  if (!cancelled) return;
  request->from_any = false;
  write_one(TISIM_cancel, request);
}

/* Reports the source of the message that a receive from any source has matched; -1 if none. */
static int64_t source_of(int index, const MPI_Status* status) {
  if (!needs_statuses || status == NULL || !listed[index]->from_any) return -1;
  const int64_t source = status->MPI_SOURCE + listed[index]->source_offset;
  tisim_write_matched(listed[index]->ticket, source);
  return source;
}

/* Records a test of the listed requests. */
static void ask(bool done) {
  uint64_t key = TISIM_test;
  for (int i = 0; i < listed_count; ++i) {
    if (listed[i] == NULL) continue;
    const uint64_t number = (uint64_t)listed[i]->number;
    key = tisim_key(TISIM_test, (const uint64_t[]){key, number}, 2);
  }
  if (key != TISIM_test) tisim_record_test(key, done);
}

void tisim_after_one(bool is_test, bool done, const MPI_Status* status) {
  if (is_test) ask(done);
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
  named.layer = layer_of(listed[0]);
  if (done) named.source = source_of(0, status);
  tisim_write(is_test && !done ? TISIM_test : TISIM_wait, NULL, 0, &named, done);
  if (done) tisim_request_done(listed[0]);
}

void tisim_after_all(bool is_test, bool done, const MPI_Status* statuses) {
  if (is_test) ask(done);
  if (!done) {
    if (tisim_keeps_failed_tests()) write_list(TISIM_testall, -1, nothing);
    return;
  }
  int64_t source = -1;
  for (int i = 0; i < listed_count; ++i) {
    if (listed[i] != NULL && statuses != NULL) settle(listed[i], &statuses[i]);
    const int64_t own = listed[i] != NULL && statuses != NULL ? source_of(i, &statuses[i]) : -1;
    if (source < 0) source = own;
  }
  write_list(TISIM_waitall, source, nothing);
  for (int i = 0; i < listed_count; ++i) {
    if (listed[i] != NULL) tisim_request_done(listed[i]);
  }
}

void tisim_after_any(bool is_test, bool done, int index, const MPI_Status* status) {
  if (is_test) ask(done);
  if (!done) {
    if (is_test && tisim_keeps_failed_tests()) write_list(TISIM_testany, -1, nothing);
    return;
  }
  if (listed_at(index) == NULL) return;
  static int place;
  place = index;
  places = &place;
  places_first = 0;
  if (status != NULL) settle(listed[index], status);
  if (is_one(listed[index])) {
    write_list(TISIM_waitany, source_of(index, status), (struct completed){&index, 1, 0});
  } else {
    write_parts(listed[index]);
  }
  tisim_request_done(listed[index]);
}

void tisim_after_some(bool is_test, int count, const int* indices, int first,
                      const MPI_Status* statuses) {
  if (count == MPI_UNDEFINED) return;
  if (is_test) ask(count != 0);
  if (count == 0) {
    if (is_test && tisim_keeps_failed_tests()) write_list(TISIM_testsome, -1, nothing);
    return;
  }
  places = indices;
  places_first = first;
  int64_t source = -1;
  bool known = false;
  for (int i = 0; i < count; ++i) {
    const int index = indices[i] - first;
    if (listed_at(index) == NULL) continue;
    if (!is_one(listed[index])) {
      write_parts(listed[index]);
      continue;
    }
    known = true;
    if (statuses != NULL) settle(listed[index], &statuses[i]);
    const int64_t own = statuses != NULL ? source_of(index, &statuses[i]) : -1;
    if (source < 0) source = own;
  }
  const struct completed completed = {indices, count, first};
  if (known) write_list(TISIM_waitsome, source, completed);
  for (int i = 0; i < count; ++i) {
    struct tisim_request* const request = listed_at(indices[i] - first);
    if (request == NULL) continue;
    tisim_request_done(request);
    listed[indices[i] - first] = NULL;
  }
}

/* A call that is written as several, which is a collective, is only dropped: MPI does not allow
 * freeing its request. */
void tisim_before_request_free(MPI_Request request, const void* variable) {
  tisim_begin_list();
  struct tisim_request* const freed = tisim_request_find(request, variable);
  if (freed == NULL) return;
  if (is_one(freed) && freed->kept == NULL) write_one(TISIM_request_free, freed);
  tisim_defer_freeing_call(); /* while its number is known */
  tisim_request_forget(freed);
}

/* Writes only successful cancellations. For a receive MPI knows the outcome at once, for a send
 * perhaps only when its request completes. */
void tisim_after_cancel(MPI_Request request, const void* variable) {
  tisim_begin_list();
  struct tisim_request* const marked = tisim_request_find(request, variable);
  if (marked == NULL || !marked->active || !is_one(marked)) return;
  MPI_Status status;
  int done = 0;
  marked->is_marked = PMPI_Request_get_status(request, &done, &status) == MPI_SUCCESS;
  if (done) settle(marked, &status);
}
