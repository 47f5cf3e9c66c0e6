/* Communicators: created, split and freed under the numbers given in the trace. */
#include <stdlib.h>

#include "ti_exec.h"

static MPI_Comm existing(const rank_t* me, const line_t* line, int i) {
  const int id = integer(line, i);
  if (id < 0 || id >= me->n_comms || me->comms[id] == MPI_COMM_NULL)
    fail(line, "this rank is in no such communicator");
  return me->comms[id];
}

static void name(rank_t* me, const line_t* line, int i, MPI_Comm made) {
  const int id = integer(line, i);
  if (id >= me->n_comms) {
    me->comms = realloc(me->comms, (id + 1) * sizeof *me->comms);
    while (me->n_comms <= id) me->comms[me->n_comms++] = MPI_COMM_NULL;
  }
  if (me->comms[id] != MPI_COMM_NULL) fail(line, "the communicator exists already");
  me->comms[id] = made;
}

/* parent new color key; without arguments, as SimGrid writes it, does nothing */
static void do_comm_split(rank_t* me, const line_t* line) {
  if (line->n == 2) return;
  const int color = integer(line, 4);
  MPI_Comm made;
  MPI_Comm_split(existing(me, line, 2), color < 0 ? MPI_UNDEFINED : color, integer(line, 5), &made);
  if (made != MPI_COMM_NULL) name(me, line, 3, made);
}

/* parent new */
static void do_comm_dup(rank_t* me, const line_t* line) {
  if (line->n == 2) return;
  MPI_Comm made;
  MPI_Comm_dup(existing(me, line, 2), &made);
  name(me, line, 3, made);
}

/* comm */
static void do_comm_free(rank_t* me, const line_t* line) {
  MPI_Comm comm = existing(me, line, 2);
  me->comms[integer(line, 2)] = MPI_COMM_NULL;
  MPI_Comm_free(&comm);
}

const named_action_t communicator_actions[] = {{"comm_dup", do_comm_dup},
                                               {"comm_free", do_comm_free},
                                               {"comm_split", do_comm_split},
                                               {NULL, NULL}};
