/* Point-to-point messages: sends, receives, probes, persistent requests. */
#include "ti_exec.h"

static int destination(int rank) { return rank == -333 || rank == -666 ? MPI_PROC_NULL : rank; }

/* -- Sends: dst tag count [type] ------------------------------------------------------------ */

typedef int (*send_t)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*isend_t)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

static void send_by(rank_t* me, const line_t* line, send_t call) {
  call(outgoing, integer(line, 4), type_of(me, line, 5), destination(integer(line, 2)),
       integer(line, 3), me->comm);
}

static MPI_Request start_send(rank_t* me, const line_t* line, isend_t call) {
  MPI_Request request;
  call(outgoing, integer(line, 4), type_of(me, line, 5), destination(integer(line, 2)),
       integer(line, 3), me->comm, &request);
  return request;
}

static void isend_by(rank_t* me, const line_t* line, isend_t call) {
  remember(me, me->rank, integer(line, 2), integer(line, 3), start_send(me, line, call));
}

static void do_send(rank_t* me, const line_t* line) { send_by(me, line, MPI_Send); }
static void do_ssend(rank_t* me, const line_t* line) { send_by(me, line, MPI_Ssend); }
static void do_bsend(rank_t* me, const line_t* line) { send_by(me, line, MPI_Bsend); }
static void do_isend(rank_t* me, const line_t* line) { isend_by(me, line, MPI_Isend); }
static void do_issend(rank_t* me, const line_t* line) { isend_by(me, line, MPI_Issend); }
static void do_ibsend(rank_t* me, const line_t* line) { isend_by(me, line, MPI_Ibsend); }

/* -- Receives: src tag count [type] --------------------------------------------------------- */

/* Returns the count of a receive; if negative, it is obtained with a probe. */
static int receive_count(rank_t* me, const line_t* line, MPI_Datatype type) {
  int count = integer(line, 4);
  if (count < 0) {
    MPI_Status status;
    MPI_Probe(source(integer(line, 2)), receive_tag(integer(line, 3)), me->comm, &status);
    MPI_Get_count(&status, type, &count);
  }
  return count;
}

static void do_recv(rank_t* me, const line_t* line) {
  const MPI_Datatype type = type_of(me, line, 5);
  const int count = receive_count(me, line, type);
  MPI_Recv(incoming, count, type, source(integer(line, 2)), receive_tag(integer(line, 3)), me->comm,
           MPI_STATUS_IGNORE);
}

static void do_irecv(rank_t* me, const line_t* line) {
  const MPI_Datatype type = type_of(me, line, 5);
  const int count = receive_count(me, line, type);
  MPI_Request request;
  MPI_Irecv(incoming, count, type, source(integer(line, 2)), receive_tag(integer(line, 3)),
            me->comm, &request);
  remember(me, integer(line, 2), me->rank, integer(line, 3), request);
}

static void do_sendrecv(rank_t* me, const line_t* line) {
  MPI_Sendrecv(outgoing, integer(line, 2), type_of(me, line, 6), destination(integer(line, 3)), 0,
               incoming, integer(line, 4), type_of(me, line, 7), source(integer(line, 5)), 0,
               me->comm, MPI_STATUS_IGNORE);
}

/* -- Probes: src tag ------------------------------------------------------------------------ */

static void do_probe(rank_t* me, const line_t* line) {
  MPI_Probe(source(integer(line, 2)), receive_tag(integer(line, 3)), me->comm, MPI_STATUS_IGNORE);
}

static void do_iprobe(rank_t* me, const line_t* line) {
  int flag;
  MPI_Iprobe(source(integer(line, 2)), receive_tag(integer(line, 3)), me->comm, &flag,
             MPI_STATUS_IGNORE);
}

/* -- Persistent requests: as isend and irecv, but started later ------------------------------- */

static void send_init_by(rank_t* me, const line_t* line, isend_t call) {
  add(&me->persistent,
      (request_t){me->rank, integer(line, 2), integer(line, 3), me->comm_id,
                  start_send(me, line, call), .persistent = 1, .number = me->number});
}

static void do_send_init(rank_t* me, const line_t* line) { send_init_by(me, line, MPI_Send_init); }
static void do_ssend_init(rank_t* me, const line_t* line) {
  send_init_by(me, line, MPI_Ssend_init);
}
static void do_bsend_init(rank_t* me, const line_t* line) {
  send_init_by(me, line, MPI_Bsend_init);
}

static void do_recv_init(rank_t* me, const line_t* line) {
  MPI_Request request;
  MPI_Recv_init(incoming, integer(line, 4), type_of(me, line, 5), source(integer(line, 2)),
                receive_tag(integer(line, 3)), me->comm, &request);
  add(&me->persistent, (request_t){integer(line, 2), me->rank, integer(line, 3), me->comm_id,
                                   request, .persistent = 1, .number = me->number});
}

const named_action_t message_actions[] = {{"bsend", do_bsend},
                                          {"bsend_init", do_bsend_init},
                                          {"ibsend", do_ibsend},
                                          {"iprobe", do_iprobe},
                                          {"irecv", do_irecv},
                                          {"isend", do_isend},
                                          {"issend", do_issend},
                                          {"probe", do_probe},
                                          {"recv", do_recv},
                                          {"recv_init", do_recv_init},
                                          {"send", do_send},
                                          {"send_init", do_send_init},
                                          {"sendrecv", do_sendrecv},
                                          {"ssend", do_ssend},
                                          {"ssend_init", do_ssend_init},
                                          {NULL, NULL}};
