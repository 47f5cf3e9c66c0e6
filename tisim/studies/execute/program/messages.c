#include <limits.h>
#include <stdlib.h>

#include "execute.h"

#define LARGE_BLOCK (1 << 20)

/* Returns a datatype of more bytes than a count can express. */
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

/* Recorders write tags from the top of the permitted range; some libraries have a smaller range. */
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

struct request request_for(const struct instruction* instruction) {
  const bool receives = traits_of(instruction)->receives;
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
    request.buffer = receive_buffer(request.bytes);
  }
  return request;
}

void post_message(const struct instruction* instruction, void* buffer, MPI_Request* request) {
  const void* const from = buffer;
  const struct message m = message_of(instruction);
  const MPI_Comm communicator = communicator_of(instruction);
  switch (instruction->kind) {
#define CALL(KIND, FUNCTION)                                      \
  case KIND:                                                      \
    FUNCTION(from, m.count, m.type, m.peer, m.tag, communicator); \
    break;
    TRACE_SENDS(CALL)
#undef CALL
#define CALL(KIND, FUNCTION)                                               \
  case KIND:                                                               \
    FUNCTION(from, m.count, m.type, m.peer, m.tag, communicator, request); \
    break;
    TRACE_SENDS_WITH_REQUEST(CALL)
#undef CALL
    case KIND_RECV:
      MPI_Recv(buffer, m.count, m.type, m.peer, m.tag, communicator, MPI_STATUS_IGNORE);
      break;
    case KIND_IRECV:
      MPI_Irecv(buffer, m.count, m.type, m.peer, m.tag, communicator, request);
      break;
    case KIND_RECV_INIT:
      MPI_Recv_init(buffer, m.count, m.type, m.peer, m.tag, communicator, request);
      break;
    default:
      fail("the script has a message of kind %d", instruction->kind);
  }
  forget_message(&m);
}

void send_message(const struct instruction* instruction) {
  const struct kind_traits* const traits = traits_of(instruction);
  if (traits->mode == MODE_BUFFERED) reserve_buffered(instruction->bytes);
  void* const buffer = send_buffer(instruction->bytes);
  if (!program.rehearsing) post_message(instruction, buffer, next_handle());
  if (!traits->makes_request) return;
  const struct request request = request_for(instruction);
  add_request(&request);
}

/* Returns the size of a message that the trace does not contain. */
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
  if (!program.rehearsing) post_message(&sized, request.buffer, next_handle());
  if (traits_of(&sized)->makes_request)
    add_request(&request);
  else
    release_buffer(request.buffer, request.bytes);
}

static struct instruction sending_half;

void begin_send_receive(const struct instruction* send) { sending_half = *send; }

void finish_send_receive(const struct instruction* receive) {
  const struct instruction* const send = &sending_half;
  const void* const from = send_buffer(send->bytes);
  void* const buffer = receive_buffer(receive->bytes);
  if (!program.rehearsing) {
    const struct message out = message_of(send), in = message_of(receive);
    MPI_Sendrecv(from, out.count, out.type, out.peer, out.tag, buffer, in.count, in.type, in.peer,
                 in.tag, communicator_of(receive), MPI_STATUS_IGNORE);
    forget_message(&out);
    forget_message(&in);
  }
  release_buffer(buffer, receive->bytes);
}

void probe_message(const struct instruction* instruction) {
  if (program.rehearsing) return;
  const int peer = peer_of(instruction->peer), tag = tag_of(instruction->tag);
  int found;
  if (traits_of(instruction)->blocks)
    MPI_Probe(peer, tag, communicator_of(instruction), MPI_STATUS_IGNORE);
  else
    MPI_Iprobe(peer, tag, communicator_of(instruction), &found, MPI_STATUS_IGNORE);
}
