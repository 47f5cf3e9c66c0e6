/* Executes a time-independent trace with real MPI calls inside SimGrid.
 *
 *   ti_exec DIR [synchronised] [kill=<rank>:<seconds>] ...
 *
 * Rank r runs DIR/rank-<r>.txt (modern dialect). `synchronised`: all ranks meet before each
 * collective, as with SimGrid 4's smpi/barrier-collectives. `kill`: that rank is killed at that
 * time, as in a deployment.
 *
 * Compiled with smpicc and started by smpirun: SimGrid then simulates exactly the calls in the
 * trace, with any collective selector. All ranks share one address space (smpirun
 * -no-privatize), so the only globals are constants, the two message buffers and the barrier of
 * `synchronised`.
 *
 * Rank r prints "rank <r> finish <seconds>" on standard output.
 */
#define _GNU_SOURCE
#include "ti_exec.h"

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

/* Pages are only reserved until they are written. */
#define BUFFER_BYTES ((size_t)1 << 36)
/* MPI_Bsend needs a buffer; SimGrid only checks its size. */
#define BSEND_BYTES (1 << 30)

void *outgoing, *incoming;

_Noreturn void fail(const line_t* line, const char* message) {
  fprintf(stderr, "%s %s: %s\n", line->word[0], line->word[1], message);
  MPI_Abort(MPI_COMM_WORLD, 2);
  abort();
}

double number(const line_t* line, int i) {
  if (i >= line->n) fail(line, "an argument is missing");
  return atof(line->word[i]);
}

int integer(const line_t* line, int i) { return (int)number(line, i); }
int root_of(const line_t* line, int i) { return i < line->n ? integer(line, i) : 0; }

/* Types of the same width are interchangeable: only the number of bytes matters. */
MPI_Datatype type_of(const rank_t* me, const line_t* line, int i) {
  static const signed char width_of[60] = {8, 4,  1,  2, 8,  4,  1,  8,  1,  1,  2, 4,  8,  8,  16,
                                           4, 1,  1,  2, 4,  8,  1,  2,  4,  8,  8, 16, 32, 8,  8,
                                           8, 16, 16, 8, 8,  8,  16, 16, 4,  4,  8, 16, 8,  16, 16,
                                           4, 2,  4,  8, 16, 32, 1,  8,  16, 32, 0, 0,  1,  8,  8};
  if (i >= line->n) return me->default_type;
  const int id = integer(line, i);
  if (id == 6) return MPI_BYTE;
  switch (id >= 0 && id < 60 ? width_of[id] : -1) {
    case 1:
      return MPI_CHAR;
    case 2:
      return MPI_SHORT;
    case 4:
      return MPI_INT;
    case 8:
      return MPI_DOUBLE;
    case 16:
      return MPI_DOUBLE_COMPLEX;
    default:
      fail(line, "there is no type of that width");
  }
}

int source(int rank) {
  return rank == -555 || rank == -333 ? MPI_ANY_SOURCE : rank == -666 ? MPI_PROC_NULL : rank;
}
int receive_tag(int tag) { return tag == -444 ? MPI_ANY_TAG : tag; }

void compute(double volume) {
  if (volume > 0) smpi_execute_flops(volume);
}

static void read_options(rank_t* me, int n, char** options) {
  int rank;
  double seconds;
  for (int i = 0; i < n; i++)
    if (!strcmp(options[i], "synchronised"))
      me->synchronised = 1;
    else if (sscanf(options[i], "kill=%d:%lf", &rank, &seconds) == 2 && rank == me->world_rank)
      sg_actor_set_kill_time(sg_actor_self(), seconds);
}

/* -- Lines --------------------------------------------------------------------------------- */

static void do_compute(rank_t* me, const line_t* line) {
  (void)me;
  compute(number(line, 2));
}

static void do_sleep(rank_t* me, const line_t* line) {
  (void)me;
  sg_actor_sleep_for(number(line, 2));
}

static void do_init(rank_t* me, const line_t* line) {
  me->default_type = line->n > 2 ? MPI_DOUBLE : MPI_BYTE;
}
static void do_nothing(rank_t* me, const line_t* line) { (void)me, (void)line; }

static const named_action_t own_actions[] = {{"comm_size", do_nothing},
                                             {"compute", do_compute},
                                             {"finalize", do_nothing},
                                             {"init", do_init},
                                             {"location", do_nothing},
                                             {"sleep", do_sleep},
                                             {NULL, NULL}};

static action_t find_action(const char* name) {
  const named_action_t* const tables[] = {own_actions,        message_actions,      request_actions,
                                          collective_actions, communicator_actions, window_actions};
  for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
    for (const named_action_t* action = tables[t]; action->name; action++)
      if (!strcasecmp(action->name, name)) return action->run;
  return NULL;
}

/* Removes the named arguments at the end of a line: `comm=`, which sets the line's communicator,
 * `request=` and `requests=`. */
static void take_named(rank_t* me, line_t* line) {
  me->comm_id = 0;
  me->number = NO_NUMBER;
  me->list = NULL;
  for (const char* value; (value = strchr(line->word[line->n - 1], '=')); line->n--) {
    const char* name = line->word[line->n - 1];
    if (!strncmp(name, "comm=", 5))
      me->comm_id = atoi(value + 1);
    else if (!strncmp(name, "request=", 8))
      me->number = atoi(value + 1);
    else
      me->list = value + 1;
  }
  if (me->comm_id >= me->n_comms || me->comms[me->comm_id] == MPI_COMM_NULL)
    fail(line, "this rank is in no such communicator");
  me->comm = me->comms[me->comm_id];
  MPI_Comm_rank(me->comm, &me->rank);
  MPI_Comm_size(me->comm, &me->size);
}

static void run_line(rank_t* me, line_t* line) {
  const action_t run = find_action(line->word[1]);
  if (!run) {
    fprintf(stderr, "rank %d: unknown action %s\n", me->world_rank, line->word[1]);
    MPI_Abort(MPI_COMM_WORLD, 4);
  }
  take_named(me, line);
  run(me, line);
}

static void run_file(rank_t* me, FILE* file) {
  char *text = NULL, *rest;
  char** words = NULL;
  size_t capacity = 0;
  while (getline(&text, &capacity, file) > 0) {
    line_t line = {0, words = realloc(words, (capacity / 2 + 2) * sizeof *words)};
    for (char* p = strtok_r(text, " \t\n", &rest); p; p = strtok_r(NULL, " \t\n", &rest))
      words[line.n++] = p;
    if (line.n >= 2 && words[0][0] != '#') run_line(me, &line);
  }
  free(words);
  free(text);
}

static void* reserve(void) {
  void* space = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) {
    perror("mmap");
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  return space;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (!outgoing) {
    outgoing = reserve();
    incoming = reserve();
  }
  rank_t me = {.default_type = MPI_BYTE, .n_comms = 1};
  me.comms = malloc(sizeof *me.comms);
  me.comms[0] = MPI_COMM_WORLD;
  MPI_Comm_rank(MPI_COMM_WORLD, &me.world_rank);
  read_options(&me, argc - 2, argv + 2);
  MPI_Buffer_attach(outgoing, BSEND_BYTES);
  char path[4096];
  snprintf(path, sizeof path, "%s/rank-%d.txt", argv[1], me.world_rank);
  FILE* file = fopen(path, "r");
  if (!file) {
    perror(path);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const double start = simgrid_get_clock();
  run_file(&me, file);
  wait_for_all(&me);
  MPI_Finalize();
  printf("rank %d finish %.17g\n", me.world_rank, simgrid_get_clock() - start);
  fclose(file);
  free(me.pending.at);
  free(me.persistent.at);
  free(me.comms);
  free(me.windows);
  return 0;
}
