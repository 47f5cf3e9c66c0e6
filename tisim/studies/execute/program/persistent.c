#include "persistent.h"

#include <stdlib.h>

#include "communicators.h"
#include "execute.h"
#include "memory.h"
#include "messages.h"
#include "requests.h"

struct persistent {
  MPI_Request handle;
  struct request request; /* what a start makes */
  int64_t buffered; /* bytes that each start puts into MPI's buffer, -1: none */
  bool active;
  bool freed;
  int number; /* -1: none */
};

static struct persistent *table;
static int count, capacity;

void make_persistent(const struct instruction *instruction) {
  if (count == capacity) {
    capacity = capacity == 0 ? 16 : 2 * capacity;
    table = realloc(table, (size_t)capacity * sizeof *table);
    if (table == NULL) fail("no memory for %d persistent requests", capacity);
  }
  struct persistent *const made = &table[count];
  made->active = false;
  made->freed = false;
  made->number = -1;
  made->buffered = instruction->kind == KIND_BSEND_INIT ? instruction->bytes : -1;
  if (instruction->kind != KIND_RECV_INIT) send_room(instruction->bytes);
  made->request = request_for(instruction);
  made->request.persistent = count++;
  const struct message message = message_of(instruction);
  MPI_Request *const handle = &made->handle;
  if (!program.rehearsing) {
    const MPI_Comm communicator = communicator_of(instruction);
    const int peer = message.peer, tag = message.tag;
    if (instruction->kind == KIND_RECV_INIT) {
      MPI_Recv_init(made->request.room, message.count, message.type, peer, tag, communicator,
                    handle);
    } else {
      const void *const from = send_room(instruction->bytes);
      if (instruction->kind == KIND_SEND_INIT)
        MPI_Send_init(from, message.count, message.type, peer, tag, communicator, handle);
      else if (instruction->kind == KIND_SSEND_INIT)
        MPI_Ssend_init(from, message.count, message.type, peer, tag, communicator, handle);
      else
        MPI_Bsend_init(from, message.count, message.type, peer, tag, communicator, handle);
    }
  }
  forget_message(&message);
}

void number_last_persistent(int number) {
  for (int index = 0; index < count; index++)
    if (table[index].number == number) table[index].number = -1;
  if (count > 0) table[count - 1].number = number;
}

static bool has_key(const struct persistent *persistent, const struct instruction *key) {
  const struct request *const request = &persistent->request;
  if (request->communicator != key->communicator || request->tag != key->tag) return false;
  if (program.rehearsing)
    return request->type == REQUEST_SEND ? request->destination == key->bytes
                                         : request->source == key->peer;
  return request->source == key->peer && request->destination == key->bytes;
}

/* The request that a start makes is pending from here on. */
static void activate(struct persistent *persistent) {
  persistent->active = true;
  if (persistent->buffered >= 0) reserve_buffered(persistent->buffered);
  struct request started = persistent->request;
  started.number = persistent->number;
  *handle_of(add_request(&started)) = persistent->handle;
}

static void start(struct persistent *persistent) {
  activate(persistent);
  if (!program.rehearsing) MPI_Start(&persistent->handle);
}

static struct persistent *with_number(int64_t number) {
  for (int index = count - 1; index >= 0; index--)
    if (table[index].number == number) return &table[index];
  fail("no persistent request has the number %lld", (long long)number);
}

static bool is_inactive(int index) { return !table[index].active && !table[index].freed; }

void start_persistent(const struct instruction *instruction) {
  if (instruction->flags & FLAG_NUMBERED) {
    start(with_number(instruction->bytes));
    return;
  }
  for (int index = 0; index < count; index++) {
    if (!is_inactive(index) || !has_key(&table[index], instruction)) continue;
    start(&table[index]);
    return;
  }
}

void start_all_persistent(const struct instruction *instruction) {
  const bool listed = instruction->flags & FLAG_NUMBERED;
  const int64_t most = listed ? instruction->count : count;
  MPI_Request *const handles = malloc((size_t)(most + 1) * sizeof *handles);
  if (handles == NULL) fail("no memory for %lld requests", (long long)most);
  int started = 0;
  for (int64_t i = 0; i < most; i++) {
    struct persistent *const one = listed ? with_number(instruction->numbers[i]) : &table[i];
    if (!is_inactive((int)(one - table))) continue;
    activate(one);
    handles[started++] = one->handle;
  }
  if (!program.rehearsing) MPI_Startall(started, handles);
  free(handles);
}

void end_persistent(int index) { table[index].active = false; }

static void release_room_of(const struct persistent *persistent) {
  if (persistent->request.type == REQUEST_RECEIVE)
    release_room(persistent->request.room, persistent->request.bytes);
}

void free_one_persistent(int index) {
  if (!program.rehearsing) MPI_Request_free(&table[index].handle);
  table[index].freed = true;
  table[index].number = -1;
  while (count > 0 && table[count - 1].freed) count--;
}

void free_inactive_persistent(const struct instruction *instruction) {
  const bool by_number = instruction->flags & FLAG_NUMBERED;
  for (int index = 0; index < count; index++) {
    const bool named = by_number ? table[index].number == instruction->bytes
                                 : has_key(&table[index], instruction);
    if (!named || !is_inactive(index)) continue;
    release_room_of(&table[index]);
    free_one_persistent(index);
    return;
  }
}

void free_persistent(void) {
  for (int index = 0; index < count; index++) {
    if (table[index].freed) continue;
    if (!program.rehearsing) PMPI_Request_free(&table[index].handle);
    release_room_of(&table[index]);
  }
  count = 0;
}
