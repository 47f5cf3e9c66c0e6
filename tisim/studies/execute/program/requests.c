#include <stdlib.h>

#include "execute.h"

enum { HASHES = 4096, FIRST_CAPACITY = 1024 };

static struct request* table;
static MPI_Request* handles;
static int capacity;
static int first = -1, last = -1;
static int lowest;            /* all lower indices are in use */
static int by_number[HASHES]; /* index + 1 of the first request of each hash, 0: none */

static int hash(int64_t number) { return (int)(number & (HASHES - 1)); }

static void grow(void) {
  const int larger = capacity == 0 ? FIRST_CAPACITY : 2 * capacity;
  table = memory_for(table, (size_t)larger, sizeof *table);
  handles = memory_for(handles, (size_t)larger, sizeof *handles);
  for (int index = capacity; index < larger; index++) table[index].pending = false;
  capacity = larger;
}

static void link_number(int index, int number) {
  struct request* const request = &table[index];
  request->number = number;
  request->same_hash = by_number[hash(number)] - 1;
  by_number[hash(number)] = index + 1;
}

static void unlink_number(int index) {
  struct request* const request = &table[index];
  if (request->number < 0) return;
  int* place = &by_number[hash(request->number)];
  if (*place - 1 == index) {
    *place = request->same_hash + 1;
  } else {
    int before = *place - 1;
    while (table[before].same_hash != index) before = table[before].same_hash;
    table[before].same_hash = request->same_hash;
  }
  request->number = -1;
}

MPI_Request* next_handle(void) {
  while (lowest < capacity && table[lowest].pending) lowest++;
  if (lowest == capacity) grow();
  return &handles[lowest];
}

static int numbered_request(int64_t number) {
  int index = by_number[hash(number)] - 1;
  while (index >= 0 && table[index].number != number) index = table[index].same_hash;
  return index;
}

/* Returns its index. */
static int add(const struct request* like) {
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

void add_request(const struct request* like) { (void)add(like); }

void number_last_request(const struct instruction* instruction) {
  const int number = (int)instruction->bytes;
  const int older = numbered_request(number);
  if (older >= 0) unlink_number(older);
  if (last < 0) return; /* a message to a null process */
  unlink_number(last);
  link_number(last, number);
}

static void end_persistent(int index);

/* Removes a completed request. */
static void finish_request(int index) {
  struct request* const request = &table[index];
  unlink_number(index);
  *(request->previous < 0 ? &first : &table[request->previous].next) = request->next;
  *(request->next < 0 ? &last : &table[request->next].previous) = request->previous;
  if (request->persistent >= 0) {
    end_persistent(request->persistent);
  } else if (request->type == REQUEST_RECEIVE || request->type == REQUEST_COLLECTIVE) {
    release_buffer(request->buffer, request->bytes);
  }
  free(request->counts);
  request->pending = false;
  if (index < lowest) lowest = index;
}

/* Returns whether a wait, test or start refers to the request, possibly with any source. */
static bool has_key(const struct request* request, const struct instruction* key, bool is_of_any) {
  if (request->communicator != key->communicator || request->tag != key->tag) return false;
  const bool source = request->source == key->peer || is_of_any;
  const bool destination = request->destination == key->bytes;
  /* During the rehearsal this rank's number in communicators is unknown. */
  if (program.rehearsing) return request->type == REQUEST_SEND ? destination : source;
  return source && destination;
}

/* Returns the pending request that a wait or test refers to, -1: none. */
static int named_request(const struct instruction* instruction) {
  if (instruction->flags & FLAG_NUMBERED) return numbered_request(instruction->bytes);
  if (traits_of(instruction)->role == ROLE_COMPLETE_LAST) return last;
  const bool is_collective = instruction->tag < 0 && instruction->tag != TRACE_ANY_TAG;
  for (int index = first; index >= 0; index = table[index].next) {
    const struct request* const request = &table[index];
    if (request->type != REQUEST_COLLECTIVE) {
      if (has_key(request, instruction, request->source_lost)) return index;
    } else if (is_collective && request->communicator == instruction->communicator &&
               request->tag == instruction->tag) {
      return index;
    }
  }
  return -1;
}

struct persistent {
  MPI_Request handle;
  struct request request; /* the request made by a start */
  int64_t buffered;       /* bytes that each start puts into MPI's buffer, -1: none */
  bool active;
  bool freed;
  int number; /* -1: none */
};

static struct persistent* persistent_table;
static int persistent_count, persistent_capacity;

void make_persistent(const struct instruction* instruction) {
  if (persistent_count == persistent_capacity) {
    persistent_capacity = persistent_capacity == 0 ? 16 : 2 * persistent_capacity;
    persistent_table =
        memory_for(persistent_table, (size_t)persistent_capacity, sizeof *persistent_table);
  }
  struct persistent* const made = &persistent_table[persistent_count];
  made->active = false;
  made->freed = false;
  made->number = -1;
  const struct kind_traits* const traits = traits_of(instruction);
  made->buffered = traits->mode == MODE_BUFFERED ? instruction->bytes : -1;
  made->request = request_for(instruction);
  made->request.persistent = persistent_count++;
  void* const buffer = traits->receives ? made->request.buffer : send_buffer(instruction->bytes);
  if (!program.rehearsing) post_message(instruction, buffer, &made->handle);
}

void number_last_persistent(const struct instruction* instruction) {
  const int number = (int)instruction->bytes;
  for (int index = 0; index < persistent_count; index++)
    if (persistent_table[index].number == number) persistent_table[index].number = -1;
  if (persistent_count > 0) persistent_table[persistent_count - 1].number = number;
}

/* Makes the request of a start pending. */
static void activate(struct persistent* persistent) {
  persistent->active = true;
  if (persistent->buffered >= 0) reserve_buffered(persistent->buffered);
  struct request started = persistent->request;
  started.number = persistent->number;
  const int index = add(&started); /* first, since it may move the handles */
  handles[index] = persistent->handle;
}

static void start(struct persistent* persistent) {
  activate(persistent);
  if (!program.rehearsing) MPI_Start(&persistent->handle);
}

static struct persistent* with_number(int64_t number) {
  for (int index = persistent_count - 1; index >= 0; index--)
    if (persistent_table[index].number == number) return &persistent_table[index];
  fail("no persistent request has the number %lld", (long long)number);
}

static bool is_inactive(int index) {
  return !persistent_table[index].active && !persistent_table[index].freed;
}

void start_persistent(const struct instruction* instruction) {
  if (instruction->flags & FLAG_NUMBERED) {
    start(with_number(instruction->bytes));
    return;
  }
  for (int index = 0; index < persistent_count; index++) {
    if (!is_inactive(index) || !has_key(&persistent_table[index].request, instruction, false))
      continue;
    start(&persistent_table[index]);
    return;
  }
}

void start_all_persistent(const struct instruction* instruction) {
  const bool listed = instruction->flags & FLAG_NUMBERED;
  const int64_t most = listed ? instruction->count : persistent_count;
  MPI_Request* const started_handles = memory_for(NULL, (size_t)most, sizeof *started_handles);
  int started = 0;
  for (int64_t i = 0; i < most; i++) {
    struct persistent* const request =
        listed ? with_number(instruction->numbers[i]) : &persistent_table[i];
    if (!is_inactive((int)(request - persistent_table))) continue;
    activate(request);
    started_handles[started++] = request->handle;
  }
  if (!program.rehearsing) MPI_Startall(started, started_handles);
  free(started_handles);
}

static void end_persistent(int index) { persistent_table[index].active = false; }

static void release_buffer_of(const struct persistent* persistent) {
  if (persistent->request.type == REQUEST_RECEIVE)
    release_buffer(persistent->request.buffer, persistent->request.bytes);
}

static void free_one_persistent(int index) {
  if (!program.rehearsing) MPI_Request_free(&persistent_table[index].handle);
  persistent_table[index].freed = true;
  persistent_table[index].number = -1;
  while (persistent_count > 0 && persistent_table[persistent_count - 1].freed) persistent_count--;
}

static void free_inactive_persistent(const struct instruction* instruction) {
  const bool by_number = instruction->flags & FLAG_NUMBERED;
  for (int index = 0; index < persistent_count; index++) {
    const bool named = by_number ? persistent_table[index].number == instruction->bytes
                                 : has_key(&persistent_table[index].request, instruction, false);
    if (!named || !is_inactive(index)) continue;
    release_buffer_of(&persistent_table[index]);
    free_one_persistent(index);
    return;
  }
}

void free_persistent(void) {
  for (int index = 0; index < persistent_count; index++) {
    if (persistent_table[index].freed) continue;
    if (!program.rehearsing) PMPI_Request_free(&persistent_table[index].handle);
    release_buffer_of(&persistent_table[index]);
  }
  persistent_count = 0;
}

/* Waits and tests, and requests that are cancelled or freed.
 *
 * For the requests of a call: their indices, and the arguments and results of MPI. */
static int *indices, *found;
static MPI_Request* copies;
static MPI_Request* taken_handles; /* the copies, or in place */
static int taken_count, taken_capacity;

static void take(int index) {
  if (taken_count == taken_capacity) {
    taken_capacity = taken_capacity == 0 ? 64 : 2 * taken_capacity;
    indices = memory_for(indices, (size_t)taken_capacity, sizeof *indices);
    found = memory_for(found, (size_t)taken_capacity, sizeof *found);
    copies = memory_for(copies, (size_t)taken_capacity, sizeof *copies);
  }
  indices[taken_count++] = index;
}

static void take_pending(void) {
  taken_count = 0;
  for (int index = first; index >= 0; index = table[index].next) take(index);
}

/* Numbers of requests that were already complete refer to none. */
static void take_listed(const struct instruction* instruction) {
  if (!(instruction->flags & FLAG_NUMBERED)) {
    take_pending();
    return;
  }
  taken_count = 0;
  for (int64_t i = 0; i < instruction->count; i++) {
    const int index = numbered_request(instruction->numbers[i]);
    if (index >= 0) take(index);
  }
}

/* Handles are passed to MPI in place, if they are contiguous. */
static void take_handles(void) {
  bool are_neighbours = true;
  for (int i = 1; i < taken_count; i++) are_neighbours &= indices[i] == indices[i - 1] + 1;
  if (taken_count > 0 && are_neighbours) {
    taken_handles = &handles[indices[0]];
    return;
  }
  taken_handles = copies;
  for (int i = 0; i < taken_count; i++) copies[i] = handles[indices[i]];
}

static void finish_taken(void) {
  for (int i = 0; i < taken_count; i++) finish_request(indices[i]);
}

void complete_one(const struct instruction* instruction) {
  const int index = named_request(instruction);
  if (index < 0) return;
  int is_complete = 1;
  if (!program.rehearsing) {
    if (traits_of(instruction)->blocks)
      MPI_Wait(&handles[index], MPI_STATUS_IGNORE);
    else
      MPI_Test(&handles[index], &is_complete, MPI_STATUS_IGNORE);
  }
  if (is_complete) finish_request(index);
}

/* During the rehearsal, a call that completes some requests completes the first one. */
static int complete_some(bool any, bool blocks) {
  int number = taken_count > 0 ? 1 : 0, is_complete = 1;
  found[0] = 0;
  if (program.rehearsing) return number;
  if (any) {
    if (blocks)
      MPI_Waitany(taken_count, taken_handles, found, MPI_STATUS_IGNORE);
    else
      MPI_Testany(taken_count, taken_handles, found, &is_complete, MPI_STATUS_IGNORE);
    return is_complete && found[0] != MPI_UNDEFINED ? 1 : 0;
  }
  if (blocks)
    MPI_Waitsome(taken_count, taken_handles, &number, found, MPI_STATUSES_IGNORE);
  else
    MPI_Testsome(taken_count, taken_handles, &number, found, MPI_STATUSES_IGNORE);
  return number == MPI_UNDEFINED ? 0 : number;
}

static void finish_some(bool any, bool blocks) {
  const int complete = complete_some(any, blocks);
  for (int i = 0; i < complete; i++) finish_request(indices[found[i]]);
}

/* Completes the requests that the recorded call completed, in as many calls as needed. */
static void complete_recorded(const struct instruction* instruction, bool any) {
  for (take_listed(instruction); taken_count > 0; take_listed(instruction)) {
    take_handles();
    finish_some(any, true);
  }
}

void complete_several(const struct instruction* instruction) {
  const struct kind_traits* const traits = traits_of(instruction);
  if (instruction->kind == KIND_WAITANY_RECORDED || instruction->kind == KIND_WAITSOME_RECORDED) {
    complete_recorded(instruction, instruction->kind == KIND_WAITANY_RECORDED);
    return;
  }
  take_listed(instruction);
  if (taken_capacity == 0) return; /* no request was ever made */
  take_handles();
  if (traits->role == ROLE_COMPLETE_ALL) {
    int are_complete = 1;
    if (!program.rehearsing) {
      if (traits->blocks)
        MPI_Waitall(taken_count, taken_handles, MPI_STATUSES_IGNORE);
      else
        MPI_Testall(taken_count, taken_handles, &are_complete, MPI_STATUSES_IGNORE);
    }
    if (are_complete) finish_taken();
    return;
  }
  finish_some(traits->role == ROLE_COMPLETE_ANY, traits->blocks);
}

void cancel_request(const struct instruction* instruction) {
  const int index = named_request(instruction);
  if (index >= 0 && !program.rehearsing) MPI_Cancel(&handles[index]);
}

void free_request(const struct instruction* instruction) {
  const int index = named_request(instruction);
  if (index < 0) {
    free_inactive_persistent(instruction);
    return;
  }
  const int persistent = table[index].persistent;
  if (!program.rehearsing && persistent < 0) MPI_Request_free(&handles[index]);
  /* Its completion remains unknown: MPI may write to its buffer until the program ends. */
  table[index].buffer = NULL;
  table[index].bytes = 0;
  finish_request(index);
  if (persistent >= 0) free_one_persistent(persistent);
}

void complete_all(void) {
  take_pending();
  if (taken_count == 0) return;
  take_handles();
  if (!program.rehearsing) PMPI_Waitall(taken_count, taken_handles, MPI_STATUSES_IGNORE);
  finish_taken();
}
