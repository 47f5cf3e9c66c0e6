#include "requests.h"

#include <stdlib.h>

#include "communicators.h"
#include "execute.h"
#include "memory.h"
#include "persistent.h"

enum { HASHES = 4096, FIRST_CAPACITY = 1024 };

static struct request *table;
static MPI_Request *handles;
static int capacity;
static int first = -1, last = -1;
static int lowest; /* no index below it is free */
static int by_number[HASHES]; /* index + 1 of the first one of each hash, 0: none */

static int hash(int64_t number) { return (int)(number & (HASHES - 1)); }

static void grow(void) {
  const int larger = capacity == 0 ? FIRST_CAPACITY : 2 * capacity;
  table = realloc(table, (size_t)larger * sizeof *table);
  handles = realloc(handles, (size_t)larger * sizeof *handles);
  if (table == NULL || handles == NULL) fail("no memory for %d pending requests", larger);
  for (int index = capacity; index < larger; index++) table[index].pending = false;
  capacity = larger;
}

static void link_number(int index, int number) {
  struct request *const request = &table[index];
  request->number = number;
  request->same_hash = by_number[hash(number)] - 1;
  by_number[hash(number)] = index + 1;
}

static void unlink_number(int index) {
  struct request *const request = &table[index];
  if (request->number < 0) return;
  int *place = &by_number[hash(request->number)];
  if (*place - 1 == index) {
    *place = request->same_hash + 1;
  } else {
    int before = *place - 1;
    while (table[before].same_hash != index) before = table[before].same_hash;
    table[before].same_hash = request->same_hash;
  }
  request->number = -1;
}

MPI_Request *next_handle(void) {
  while (lowest < capacity && table[lowest].pending) lowest++;
  if (lowest == capacity) grow();
  return &handles[lowest];
}

MPI_Request *handle_of(int index) { return &handles[index]; }

int add_request(const struct request *like) {
  next_handle();
  const int index = lowest;
  const int number = like->number;
  table[index] = *like;
  table[index].pending = true;
  table[index].number = -1;
  table[index].next = -1;
  table[index].previous = last;
  *(last < 0 ? &first : &table[last].next) = index;
  last = index;
  if (number >= 0) link_number(index, number);
  return index;
}

struct request *request_at(int index) { return &table[index]; }

void number_last_request(int number) {
  const int older = numbered_request(number);
  if (older >= 0) unlink_number(older);
  if (last < 0) return; /* a message to nobody */
  unlink_number(last);
  link_number(last, number);
}

void finish_request(int index) {
  struct request *const request = &table[index];
  unlink_number(index);
  *(request->previous < 0 ? &first : &table[request->previous].next) = request->next;
  *(request->next < 0 ? &last : &table[request->next].previous) = request->previous;
  if (request->persistent >= 0) {
    end_persistent(request->persistent);
  } else if (request->type == REQUEST_RECEIVE || request->type == REQUEST_COLLECTIVE) {
    release_room(request->room, request->bytes);
  }
  free(request->counts);
  request->pending = false;
  if (index < lowest) lowest = index;
}

void leave_request(int index) {
  table[index].room = NULL;
  table[index].bytes = 0;
  finish_request(index);
}

int first_request(void) { return first; }

int numbered_request(int64_t number) {
  int index = by_number[hash(number)] - 1;
  while (index >= 0 && table[index].number != number) index = table[index].same_hash;
  return index;
}

static bool has_key(const struct request *request, const struct instruction *key) {
  if (request->communicator != key->communicator || request->tag != key->tag) return false;
  if (request->type == REQUEST_COLLECTIVE) return key->tag < 0 && key->tag != TRACE_ANY_TAG;
  const bool source = request->source == key->peer || request->source_lost;
  const bool destination = request->destination == key->bytes;
  /* While a script is rehearsed, nobody knows this rank's number in communicators. */
  if (program.rehearsing) return request->type == REQUEST_SEND ? destination : source;
  return source && destination;
}

int named_request(const struct instruction *instruction) {
  if (instruction->flags & FLAG_NUMBERED) return numbered_request(instruction->bytes);
  if (instruction->kind == KIND_WAIT_LAST || instruction->kind == KIND_TEST_LAST) return last;
  for (int index = first; index >= 0; index = table[index].next)
    if (has_key(&table[index], instruction)) return index;
  return -1;
}
