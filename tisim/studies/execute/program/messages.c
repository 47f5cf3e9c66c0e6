#include "messages.h"

#include <limits.h>
#include <stdlib.h>

#include "communicators.h"
#include "execute.h"
#include "memory.h"

#define LARGE_BLOCK (1 << 20)

/* Of more bytes than a count can tell. */
static MPI_Datatype large_type(int64_t bytes) {
  MPI_Datatype block, made;
  PMPI_Type_contiguous(LARGE_BLOCK, MPI_BYTE, &block);
  int lengths[2] = {(int)(bytes / LARGE_BLOCK), (int)(bytes % LARGE_BLOCK)};
  MPI_Aint places[2] = {0, (MPI_Aint)lengths[0] * LARGE_BLOCK};
  MPI_Datatype types[2] = {block, MPI_BYTE};
  PMPI_Type_create_struct(2, lengths, places, types, &made);
  PMPI_Type_commit(&made);
  PMPI_Type_free(&block);
  return made;
}

/* Recorders write tags from the top of the range that MPI may have; some libraries have less. */
static int tag_of(int tag) {
  static int largest = 0;
  if (tag == TRACE_ANY_TAG) return MPI_ANY_TAG;
  if (largest == 0) {
    int *value, found;
    PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &found);
    largest = found ? *value : 32767;
  }
  return tag <= largest ? tag : tag % (largest + 1);
}

static int peer_of(int peer) {
  if (peer == TRACE_ANY_SOURCE) return MPI_ANY_SOURCE;
  if (peer == TRACE_PROC_NULL) return MPI_PROC_NULL;
  return peer;
}

struct message message_of(const struct instruction* instruction) {
  struct message message;
  const int64_t bytes = instruction->bytes;
  message.peer = peer_of(instruction->peer);
  message.tag = tag_of(instruction->tag);
  message.count = bytes <= INT_MAX ? (int)bytes : 1;
  message.type = bytes <= INT_MAX || program.rehearsing ? MPI_BYTE : large_type(bytes);
  return message;
}

void forget_message(const struct message* message) {
  MPI_Datatype type = message->type;
  if (type != MPI_BYTE) PMPI_Type_free(&type);
}

static bool is_receive(int kind) {
  return kind == KIND_RECV || kind == KIND_IRECV || kind == KIND_RECV_INIT ||
         kind == KIND_RECV_HALF;
}

struct request request_for(const struct instruction* instruction) {
  const bool receives = is_receive(instruction->kind);
  const int own = rank_in(instruction);
  struct request request = {
      .type = receives ? REQUEST_RECEIVE : REQUEST_SEND,
      .communicator = instruction->communicator,
      .source = receives ? instruction->peer : own,
      .destination = receives ? own : instruction->peer,
      .tag = instruction->tag,
      .source_lost = instruction->flags & FLAG_SOURCE_LOST,
      .number = -1,
      .persistent = -1,
  };
  if (receives) {
    request.bytes = instruction->bytes;
    request.room = receive_room(request.bytes);
  }
  return request;
}

static void send_now(const struct instruction* instruction, MPI_Request* request) {
  const void* const from = send_room(instruction->bytes);
  const struct message m = message_of(instruction);
  const MPI_Comm communicator = communicator_of(instruction);
  switch (instruction->kind) {
    case KIND_SEND:
      MPI_Send(from, m.count, m.type, m.peer, m.tag, communicator);
      break;
    case KIND_SSEND:
      MPI_Ssend(from, m.count, m.type, m.peer, m.tag, communicator);
      break;
    case KIND_BSEND:
      MPI_Bsend(from, m.count, m.type, m.peer, m.tag, communicator);
      break;
    case KIND_ISEND:
      MPI_Isend(from, m.count, m.type, m.peer, m.tag, communicator, request);
      break;
    case KIND_ISSEND:
      MPI_Issend(from, m.count, m.type, m.peer, m.tag, communicator, request);
      break;
    case KIND_IBSEND:
      MPI_Ibsend(from, m.count, m.type, m.peer, m.tag, communicator, request);
      break;
    default:
      fail("the script has a send of kind %d", instruction->kind);
  }
  forget_message(&m);
}

void send_message(const struct instruction* instruction) {
  const int kind = instruction->kind;
  if (kind == KIND_BSEND || kind == KIND_IBSEND) reserve_buffered(instruction->bytes);
  if (program.rehearsing)
    send_room(instruction->bytes);
  else
    send_now(instruction, next_handle());
  if (kind == KIND_SEND || kind == KIND_SSEND || kind == KIND_BSEND) return;
  const struct request request = request_for(instruction);
  add_request(&request);
}

/* The size of a message that the trace does not tell. */
static int64_t probed_size(const struct instruction* instruction) {
  if (program.rehearsing) return 0;
  MPI_Status status;
  int count;
  MPI_Probe(peer_of(instruction->peer), tag_of(instruction->tag), communicator_of(instruction),
            &status);
  PMPI_Get_count(&status, MPI_BYTE, &count);
  return count;
}

void receive_message(const struct instruction* instruction) {
  struct instruction sized = *instruction;
  if (sized.bytes < 0) sized.bytes = probed_size(instruction);
  const struct request request = request_for(&sized);
  if (!program.rehearsing) {
    const struct message m = message_of(&sized);
    const MPI_Comm communicator = communicator_of(&sized);
    if (sized.kind == KIND_RECV)
      MPI_Recv(request.room, m.count, m.type, m.peer, m.tag, communicator, MPI_STATUS_IGNORE);
    else
      MPI_Irecv(request.room, m.count, m.type, m.peer, m.tag, communicator, next_handle());
    forget_message(&m);
  }
  if (sized.kind == KIND_RECV)
    release_room(request.room, request.bytes);
  else
    add_request(&request);
}

static struct instruction sending_half;

void begin_send_receive(const struct instruction* send) { sending_half = *send; }

void finish_send_receive(const struct instruction* receive) {
  const struct instruction* const send = &sending_half;
  const void* const from = send_room(send->bytes);
  void* const room = receive_room(receive->bytes);
  if (!program.rehearsing) {
    const struct message out = message_of(send), in = message_of(receive);
    MPI_Sendrecv(from, out.count, out.type, out.peer, out.tag, room, in.count, in.type, in.peer,
                 in.tag, communicator_of(receive), MPI_STATUS_IGNORE);
    forget_message(&out);
    forget_message(&in);
  }
  release_room(room, receive->bytes);
}

void probe_message(const struct instruction* instruction) {
  if (program.rehearsing) return;
  const int peer = peer_of(instruction->peer), tag = tag_of(instruction->tag);
  int found;
  if (instruction->kind == KIND_PROBE)
    MPI_Probe(peer, tag, communicator_of(instruction), MPI_STATUS_IGNORE);
  else
    MPI_Iprobe(peer, tag, communicator_of(instruction), &found, MPI_STATUS_IGNORE);
}
