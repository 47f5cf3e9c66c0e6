/* Executes the scripts of a trace with real MPI calls.
 *
 * What the files share, file by file; first the options, this rank, and how to give up. Calls that
 * belong to the executor itself, not to the trace, are PMPI_ ones: recorders and profilers do not
 * see them. */
#ifndef TISIM_EXECUTE_H
#define TISIM_EXECUTE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vocabulary.h"

enum compute_mode { COMPUTE_NONE, COMPUTE_SLEEP, COMPUTE_SPIN, COMPUTE_INSTRUCTIONS };

struct options {
  const char* scripts; /* directory with rank-N.script */
  const char* results; /* directory for results; NULL: they are printed */
  const char* scratch; /* directory for the files of the trace; NULL: it has none */
  int repetitions;
  int warm_ups; /* repetitions before these, which are not reported */
  enum compute_mode compute;
  double speed; /* units of computation a second */
  bool timeline;
};

struct program {
  struct options options;
  MPI_Comm control; /* a copy of the world for the executor's own calls */
  int rank;
  int ranks;
  /* The script is followed without any call of MPI, to learn what memory it takes. */
  bool rehearsing;
  uint32_t line; /* of the trace, that is executed */
};

extern struct program program;

/* Says what is wrong, with the rank and the line, and ends all ranks. */
_Noreturn void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

/* script.c: reads a script, an instruction at a time. tisim's core/trace/script/script.hpp has the
 * layout. */

struct instruction {
  int kind;
  int operation; /* of a collective */
  int flags;
  int communicator; /* by its number in the trace, 0: the world */
  int peer;
  int tag;
  int64_t bytes;
  double amount; /* of a computation or sleep */
  int64_t count; /* of `numbers` */
  int64_t* numbers;
};

/* The entry of the table of operations for an instruction's kind. */
static inline const struct kind_traits* traits_of(const struct instruction* instruction) {
  return &kind_traits[instruction->kind];
}

/* Opens the script of this rank; fails if it is of another number of ranks. */
void open_script(const char* directory);
void rewind_script(void);
/* The next instruction, good until the one after the next; NULL at the end. */
const struct instruction* next_instruction(uint32_t* line);

/* clock.c: one clock for all ranks: that of rank 0. */

/* Tells this host from others. */
uint64_t host_number(void);
/* Compares the clocks of all ranks with that of rank 0. */
void align_clocks(void);
/* By how much the clocks may differ after that, in seconds; the largest of all ranks, on rank 0. */
double clock_error(void);

/* Seconds of rank 0's clock. */
double now(void);
/* Seconds of a processor that this rank has used. */
double processor_time(void);
/* Sleeps until then; it is not woken early. */
void sleep_until(double when);
/* Sleeps until all ranks have come here, and only looks now and then whether they have. */
void wait_for_all(void);
/* Lets all ranks go on at one instant: returns its date. `late`: by how much this rank missed it.
 */
double start_together(double* late);

/* computation.c: the replacement of a computation. */

void prepare_computations(void);
void compute(const struct instruction* instruction);
/* Executes the trace's own `sleep`. */
void sleep_for(const struct instruction* instruction);
/* Instructions a second of the loop that `instructions` executes; 0 in other modes. */
double loop_speed(void);

/* The seconds that this rank computes and sleeps; after the rehearsal. */
double computing_time(void);

/* memory.c: the memory of messages, and how much of it a script takes. */

/* Memory for so many things of a size, with what `old` has; fails where there is none. */
void* memory_for(void* old, size_t count, size_t size);
/* Room for a message that is received. While the script is rehearsed: NULL, only counted. */
void* receive_room(int64_t bytes);
void release_room(void* room, int64_t bytes);
/* Memory of that size to send from; all messages are sent from the same. */
void* send_room(int64_t bytes);
/* A buffered send of so many bytes follows: MPI has room for it. */
void reserve_buffered(int64_t bytes);

/* After the rehearsal: fails, on all ranks, if the ranks of a host need more than it has free;
 * then makes the memory to send from. */
void allocate_memory(void);
/* The bytes that this rank needs for its messages. */
int64_t needed_memory(void);

/* communicators.c: the communicators of the trace, by their numbers. */

MPI_Comm communicator_of(const struct instruction* instruction);
/* This rank's number in it. */
int rank_in(const struct instruction* instruction);
/* The same ranks with these neighbours, which all ranks make in the first call that needs it. */
MPI_Comm topology_of(const struct instruction* instruction, int destinations,
                     const int* destination, int sources, const int* source);

/* The ranks of these numbers in a group, which is freed. */
MPI_Group group_among(MPI_Group all, const int64_t* numbers, int64_t count);

/* Whoever first uses a copy that was made without blocking waits for it. */
void make_communicator(const struct instruction* instruction);
void free_communicator(const struct instruction* instruction);
/* At the end of a repetition. */
void free_communicators(void);

/* requests.c: the pending requests of this rank, in the order in which they were made.
 *
 * A later call names a request by its key, by its number, or as one of all that are pending, as
 * tisim's docs/traces.md says. */

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
/* A new request, the last of those that are pending. */
void add_request(const struct request* like);
/* The request, or the persistent one, that was made last gets a number, which an older one loses.
 */
void number_last_request(const struct instruction* instruction);
void number_last_persistent(const struct instruction* instruction);

/* Persistent requests: made once, started many times. */

/* A send_init or recv_init. */
void make_persistent(const struct instruction* instruction);
void start_persistent(const struct instruction* instruction);
void start_all_persistent(const struct instruction* instruction);
/* At the end of a repetition. */
void free_persistent(void);

/* Waits and tests, and requests that are cancelled or freed. */

void complete_one(const struct instruction* instruction);
void complete_several(const struct instruction* instruction);
void cancel_request(const struct instruction* instruction);
void free_request(const struct instruction* instruction);
/* At the end of a rank: it waits for all that is pending. */
void complete_all(void);

/* messages.c: sends, receives and probes. */

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

/* collectives.c: collective calls, blocking and not. */

void call_collective(const struct instruction* instruction);

/* windows.c: the windows of the trace, by their numbers, and one-sided communication. */

void call_window(const struct instruction* instruction);
/* At the end of a repetition. */
void free_windows(void);

/* results.c: the report of rank 0, and what each rank leaves behind while it runs. */

void open_results(void);
void report_start(void);
/* A repetition has ended: when each rank did, in seconds after the common start, and by how much it
 * missed that, and how many seconds of its processor it took. All ranks call it. */
void report_repetition(int repetition, double end, double late, double processor_time);
void close_results(void);

/* This rank begins an instruction. */
void show_instruction(const struct instruction* instruction);
/* It has ended; with --timeline it is written down, during the last repetition. */
void log_instruction(const struct instruction* instruction, double begin, double end);

/* scratch.c: the directory in which the files of the trace lie, and what is in it before a
 * repetition. */

struct scratch_file {
  char* path;
  char* directory;           /* that the trace makes; another one, as files may need `path` */
  bool is_created;           /* by the trace */
  int64_t needed;            /* bytes that are there before */
  uint64_t hash;             /* of the path */
  struct scratch_file* next; /* of all */
  struct scratch_file* same; /* with the same hash, nearly */
};

/* The file of a name in the trace, whose bytes stand one in each number. */
struct scratch_file* scratch_file_of(const int64_t* name, int64_t count);
/* While the script is rehearsed: the file is opened; it has so many bytes, -1: not known. */
void note_open(struct scratch_file* file, bool creates, int64_t size);
void note_read(struct scratch_file* file, int64_t end);
void note_directory(struct scratch_file* file);

/* Removes what the trace creates, and writes what it only reads. All ranks call this. */
void prepare_files(void);
/* At the end of the program. */
void remove_files(void);

/* files.c: the file accesses of the trace: the calls of POSIX and of MPI-IO, on real files. */

/* A file that the trace has open, by its number there. */
struct handle {
  int number;
  bool is_mpi;
  int file;         /* of POSIX */
  MPI_File mpi;     /* of MPI-IO */
  int64_t position; /* in the rehearsal */
  /* The view: where it begins, and how many bytes it shows of how many. 0: it shows all. */
  int64_t displacement, shown, distance;
  /* The split collective call that is under way. */
  void* room;
  const void* data;
  int64_t bytes;
  struct scratch_file* of;
  struct handle* next;
};

void call_file(const struct instruction* instruction);
/* The requests and files that the trace has left open at the end of a repetition. */
void close_files(void);

/* The handle's view from here on. */
void note_view(const struct instruction* instruction, struct handle* handle);

/* mpi_files.c */
void call_mpi_file(const struct instruction* instruction, struct handle* handle);
void open_mpi_file(const struct instruction* instruction, struct handle* handle,
                   const char* letters, size_t count);

#endif
