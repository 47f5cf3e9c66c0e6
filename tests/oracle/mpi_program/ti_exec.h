/* Declarations shared by ti_exec: the state of a rank, a line, and the actions by name. */
#ifndef TI_EXEC_H
#define TI_EXEC_H

#include <mpi.h>
#include <stddef.h>

/* A request of a rank. Its key, which later lines name, consists of ranks of the communicator
 * `comm` and the tag. A persistent request remains in the rank's list after completion. */
typedef struct {
  int src, dst, tag, comm;
  MPI_Request request;
  int persistent, active;
  int number; /* `request=`, or NO_NUMBER */
} request_t;

#define NO_NUMBER -1

typedef struct {
  int n, capacity;
  request_t* at; /* in the order of posting; those of `persistent` in the order of their making */
} requests_t;

/* State of one rank. `rank`, `size` and `comm` refer to the line's communicator. */
typedef struct {
  int world_rank;
  int rank, size;
  int comm_id;
  MPI_Comm comm;
  MPI_Comm* comms; /* by their ids in the trace */
  int n_comms;
  MPI_Win* windows; /* by their numbers in the trace */
  int n_windows;
  MPI_Datatype default_type;
  requests_t pending, persistent;
  int number;       /* the line's `request=`, or NO_NUMBER */
  const char* list; /* the line's `requests=`, or null */
  int synchronised; /* all ranks meet before a collective (SimGrid 4's smpi/barrier-collectives) */
} rank_t;

/* One line: word[0] is the rank, word[1] the action. */
typedef struct {
  int n;
  char** word;
} line_t;

typedef void (*action_t)(rank_t*, const line_t*);

typedef struct {
  const char* name;
  action_t run;
} named_action_t;

/* Contents do not matter: all messages of all ranks are sent from one buffer and received into
 * the other. */
extern void *outgoing, *incoming;

extern const named_action_t message_actions[], request_actions[], collective_actions[],
    communicator_actions[], window_actions[];

_Noreturn void fail(const line_t* line, const char* message);
double number(const line_t* line, int i);
int integer(const line_t* line, int i);
int root_of(const line_t* line, int i);
MPI_Datatype type_of(const rank_t* me, const line_t* line, int i);
int source(int rank);
int receive_tag(int tag);
void compute(double volume);

/* Adds a request to the end of a list. */
request_t* add(requests_t* list, request_t request);
void remember(rank_t* me, int src, int dst, int tag, MPI_Request request);
void wait_for_all(rank_t* me);

#endif
