/* Sends, receives and probes. */
#ifndef TISIM_MESSAGES_H
#define TISIM_MESSAGES_H

#include "requests.h"
#include "script.h"

/* A message as MPI is told of it. */
struct message {
  int count;
  MPI_Datatype type;
  int peer;
  int tag;
};

struct message message_of(const struct instruction* instruction);
void forget_message(const struct message* message);

/* Calls the function of MPI that an instruction stands for. `room`: of what is sent or received;
 * `request`: where MPI puts the request, if it makes one. */
void post_message(const struct instruction* instruction, void* room, MPI_Request* request);
/* The request that a send or receive makes, not pending yet; a receive gets its room. */
struct request request_for(const struct instruction* instruction);

void send_message(const struct instruction* instruction);
void receive_message(const struct instruction* instruction);
/* The halves of a sendrecv come one after the other. */
void begin_send_receive(const struct instruction* send);
void finish_send_receive(const struct instruction* receive);
void probe_message(const struct instruction* instruction);

#endif
