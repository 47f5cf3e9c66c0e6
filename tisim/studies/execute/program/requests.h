/* The pending requests of this rank, in the order in which they were made.
 *
 * A later call names a request by its key, by its number, or as one of all that are pending, as
 * tisim's docs/traces.md says. */
#ifndef TISIM_REQUESTS_H
#define TISIM_REQUESTS_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "script.h"

enum request_type { REQUEST_SEND, REQUEST_RECEIVE, REQUEST_COLLECTIVE };

struct request {
  enum request_type type;
  int communicator;
  int source, destination, tag; /* the key, as the trace names it */
  bool source_lost;             /* a wait may name any source */
  int number;                   /* -1: none */
  int persistent;               /* the persistent request that was started, -1: none */
  void* room;                   /* of a message that is received; freed when it is complete */
  int64_t bytes;                /* of the room */
  int* counts;                  /* of a collective; freed when it is complete */
  bool pending;
  int next, previous; /* in the order of making; -1: none */
  int same_hash;      /* the next one whose number has the same hash */
};

/* Where MPI puts the handle of the request that is added next. It stays there until the request is
 * complete: MPI may give several requests the same handle, and a recorder tells them apart by
 * their places. */
MPI_Request* next_handle(void);
/* A new request, the last of those that are pending; its index. */
int add_request(const struct request* like);
/* Those of requests with neighbouring indices are neighbours. */
MPI_Request* handle_of(int index);
struct request* request_at(int index);
/* The request that was made last gets a number, which an older one loses. */
void number_last_request(int number);
/* The request is complete. */
void finish_request(int index);
/* Nobody will know when it is: MPI may write to its room until the program ends. */
void leave_request(int index);

/* The first of the requests that are pending, -1: none; struct request has the next one. */
int first_request(void);
/* The pending request that a wait or test names, -1: none. */
int named_request(const struct instruction* instruction);
/* The pending request of a number, -1: none. */
int numbered_request(int64_t number);

/* Persistent requests: made once, started many times. */

/* A send_init or recv_init. */
void make_persistent(const struct instruction* instruction);
/* The one that was made last gets a number. */
void number_last_persistent(int number);
void start_persistent(const struct instruction* instruction);
void start_all_persistent(const struct instruction* instruction);
/* The request that a start has made is complete. */
void end_persistent(int index);
/* The one at an index, whose start, if it is active, has been left to itself. */
void free_one_persistent(int index);
/* The one that a request_free names, which is not active. */
void free_inactive_persistent(const struct instruction* instruction);
/* At the end of a repetition. */
void free_persistent(void);

/* Waits and tests, and requests that are cancelled or freed. */

void complete_one(const struct instruction* instruction);
void complete_several(const struct instruction* instruction);
void cancel_request(const struct instruction* instruction);
void free_request(const struct instruction* instruction);
/* At the end of a rank: it waits for all that is pending. */
void complete_all(void);

#endif
