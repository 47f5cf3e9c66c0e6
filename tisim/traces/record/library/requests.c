/* Requests: the number of each in the trace.
 *
 * A number is used again as soon as its request is done, the lowest free one first, so that the
 * turns of a loop use the same numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

#define FIRST_BUCKETS 1024 /* a power of two, as all numbers of buckets */

/* After so many requests of one handle, whatever the variable, the oldest one is taken. */
#define MOST_COMPARED 32

/* The requests of one handle, the oldest first. There are several where MPI gives requests that
 * are complete at once the same handle. */
struct group {
  uintptr_t handle;
  struct tisim_request *first;
  struct tisim_request *last;
  struct group *next;
};

static struct group **buckets;
static size_t bucket_count;
static size_t group_count;
static struct group *unused_groups; /* records to be used again */
static struct tisim_request *unused;
static uint64_t list; /* the current list of requests */

/* A heap of free numbers, the lowest first; all numbers from `fresh` on were never used. */
static int64_t *heap;
static size_t heap_size;
static size_t heap_room;
static int64_t fresh;

static void *checked(void *memory) {
  if (memory == NULL) {
    fprintf(stderr, "tisim record: there is no memory left\n");
    abort();
  }
  return memory;
}

static int64_t take_number(void) {
  if (heap_size == 0) return fresh++;
  const int64_t lowest = heap[0];
  const int64_t moved = heap[--heap_size];
  size_t hole = 0;
  for (size_t child; (child = 2 * hole + 1) < heap_size; hole = child) {
    if (child + 1 < heap_size && heap[child + 1] < heap[child]) ++child;
    if (heap[child] >= moved) break;
    heap[hole] = heap[child];
  }
  heap[hole] = moved;
  return lowest;
}

static void give_back(int64_t number) {
  if (heap_size == heap_room) {
    heap_room = heap_room == 0 ? 64 : 2 * heap_room;
    heap = checked(realloc(heap, heap_room * sizeof *heap));
  }
  size_t hole = heap_size++;
  while (hole != 0 && heap[(hole - 1) / 2] > number) {
    heap[hole] = heap[(hole - 1) / 2];
    hole = (hole - 1) / 2;
  }
  heap[hole] = number;
}

static struct group **bucket_of(uintptr_t handle) {
  const uint64_t mixed = (uint64_t)handle * UINT64_C(0x9E3779B97F4A7C15);
  return &buckets[(mixed >> 20) & (bucket_count - 1)];
}

static void grow(void) {
  struct group **const old = buckets;
  const size_t old_count = bucket_count;
  bucket_count = old_count == 0 ? FIRST_BUCKETS : 2 * old_count;
  buckets = checked(calloc(bucket_count, sizeof *buckets));
  for (size_t i = 0; i < old_count; ++i) {
    for (struct group *group = old[i], *next; group != NULL; group = next) {
      struct group **const bucket = bucket_of(group->handle);
      next = group->next;
      group->next = *bucket;
      *bucket = group;
    }
  }
  free(old);
}

static struct group *find_group(uintptr_t handle) {
  if (bucket_count == 0) return NULL;
  struct group *group = *bucket_of(handle);
  while (group != NULL && group->handle != handle) group = group->next;
  return group;
}

static struct group *add_group(uintptr_t handle) {
  if (group_count >= bucket_count) grow();
  struct group *group = unused_groups;
  if (group == NULL) {
    group = checked(malloc(sizeof *group));
  } else {
    unused_groups = group->next;
  }
  struct group **const bucket = bucket_of(handle);
  group->handle = handle;
  group->first = NULL;
  group->last = NULL;
  group->next = *bucket;
  *bucket = group;
  ++group_count;
  return group;
}

static void append(struct group *group, struct tisim_request *request) {
  request->group = group;
  request->next = NULL;
  request->previous = group->last;
  *(group->last == NULL ? &group->first : &group->last->next) = request;
  group->last = request;
}

static void unlink_request(struct tisim_request *request) {
  struct group *const group = request->group;
  *(request->previous == NULL ? &group->first : &request->previous->next) = request->next;
  *(request->next == NULL ? &group->last : &request->next->previous) = request->previous;
}

static void remove_request(struct tisim_request *request) {
  struct group *const group = request->group;
  unlink_request(request);
  free(request->more);
  request->next = unused;
  unused = request;
  if (group->first != NULL) return;
  struct group **link = bucket_of(group->handle);
  while (*link != group) link = &(*link)->next;
  *link = group->next;
  group->next = unused_groups;
  unused_groups = group;
  --group_count;
}

struct tisim_request *tisim_request_add(MPI_Request handle, const void *variable) {
  struct tisim_request *request = unused;
  if (request == NULL) {
    request = checked(malloc(sizeof *request));
  } else {
    unused = request->next;
  }
  memset(request, 0, sizeof *request);
  request->variable = variable;
  request->number = take_number();
  request->active = true;
  request->ticket = -1;
  struct group *group = find_group((uintptr_t)handle);
  if (group == NULL) group = add_group((uintptr_t)handle);
  append(group, request);
  return request;
}

struct tisim_request *tisim_request_add_several(MPI_Request handle, const void *variable,
                                                size_t count) {
  struct tisim_request *const request = tisim_request_add(handle, variable);
  if (count == 0) {
    give_back(request->number);
    request->number = -1;
  }
  if (count <= 1) return request;
  request->more = checked(malloc((count - 1) * sizeof *request->more));
  request->more_count = count - 1;
  for (size_t i = 0; i < request->more_count; ++i) request->more[i] = take_number();
  return request;
}

static void give_back_all(struct tisim_request *request) {
  if (request->number >= 0) give_back(request->number);
  for (size_t i = 0; i < request->more_count; ++i) give_back(request->more[i]);
}

void tisim_begin_list(void) { ++list; }

struct tisim_request *tisim_request_find(MPI_Request handle, const void *variable) {
  struct group *const group = find_group((uintptr_t)handle);
  if (group == NULL) return NULL;
  struct tisim_request *found = NULL;
  struct tisim_request *request = group->first;
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

void tisim_request_done(struct tisim_request *request) {
  request->active = false;
  if (request->persistent) return;
  if (request->made != NULL) tisim_after_request_of_comm(request);
  give_back_all(request);
  remove_request(request);
}

void tisim_request_forget(struct tisim_request *request) {
  if (!request->active || request->more_count == 0) give_back_all(request);
  remove_request(request);
}
