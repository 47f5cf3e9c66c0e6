/* Executes the scripts of a trace with real MPI calls.
 *
 * Declarations shared by the files, by file; first the options, this rank, and error handling. The
 * executor's own calls, as opposed to those of the trace, are PMPI_ functions, which recorders and
 * profilers do not see. */
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
  const char* results; /* directory for results; NULL: print them */
  const char* scratch; /* directory for the files of the trace; NULL: none */
  int repetitions;
  int warm_ups; /* preceding repetitions that are not reported */
  enum compute_mode compute;
  double speed; /* units of computation per second */
  bool timeline;
};

struct program {
  struct options options;
  MPI_Comm control; /* a duplicate of the world for the executor's own calls */
  int rank;
  int ranks;
  /* The script is traversed without MPI calls, to determine its memory. */
  bool rehearsing;
  uint32_t line; /* of the trace, currently executed */
};

extern struct program program;

/* Prints an error with the rank and the line, and ends all ranks. */
_Noreturn void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

/* script.c: reads a script, one instruction at a time. The layout is defined in tisim's
 * core/trace/script/script.hpp. */

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

/* Opens the script of this rank; fails if it is for another number of ranks. */
void open_script(const char* directory);
void rewind_script(void);
/* Returns the next instruction, valid until the one after the next; NULL at the end. */
const struct instruction* next_instruction(uint32_t* line);

/* clock.c: a common clock for all ranks: that of rank 0. */

/* Returns a number that identifies this host. */
uint64_t host_number(void);
/* Compares the clocks of all ranks with that of rank 0. */
void align_clocks(void);
/* Returns the error of the clocks after that in seconds: on rank 0, the maximum over all ranks. */
double clock_error(void);

/* Seconds of rank 0's clock. */
double now(void);
/* Processor seconds used by this rank. */
double processor_time(void);
/* Sleeps until `when`, without waking early. */
void sleep_until(double when);
/* Sleeps until all ranks have arrived, polling infrequently. */
void wait_for_all(void);
/* Releases all ranks at the same instant; returns its date. `late`: delay of this rank. */
double start_together(double* late);

/* computation.c: substitutes for computations. */

void prepare_computations(void);
void compute(const struct instruction* instruction);
/* Executes the trace's own `sleep`. */
void sleep_for(const struct instruction* instruction);
/* Instructions per second of the loop for `instructions`; 0 in other modes. */
double loop_speed(void);

/* The seconds that this rank computes and sleeps; valid after the rehearsal. */
double computing_time(void);

/* memory.c: memory for messages, and the amount that a script needs. */

/* Reallocates `old` for `count` elements of a size; fails without memory. */
void* memory_for(void* old, size_t count, size_t size);
/* Buffer for a received message. During the rehearsal: NULL, only counted. */
void* receive_buffer(int64_t bytes);
void release_buffer(void* buffer, int64_t bytes);
/* Memory of that size to send from; shared by all messages. */
void* send_buffer(int64_t bytes);
/* Ensures that MPI has buffer space for a following buffered send. */
void reserve_buffered(int64_t bytes);

/* After the rehearsal: fails, on all ranks, if the ranks of a host need more memory than is free;
 * then allocates the memory to send from. */
void allocate_memory(void);
/* Returns the bytes that this rank needs for its messages. */
int64_t needed_memory(void);

/* communicators.c: the communicators of the trace, by their numbers. */

MPI_Comm communicator_of(const struct instruction* instruction);
/* This rank's number in the communicator. */
int rank_in(const struct instruction* instruction);
/* The same ranks with a neighbourhood topology, which all ranks create in the first call that needs
 * it. */
MPI_Comm topology_of(const struct instruction* instruction, int destinations,
                     const int* destination, int sources, const int* source);

/* Returns the subgroup of ranks with these numbers, and frees `all`. */
MPI_Group group_among(MPI_Group all, const int64_t* numbers, int64_t count);

/* A copy made without blocking is awaited by its first use. */
void make_communicator(const struct instruction* instruction);
void free_communicator(const struct instruction* instruction);
/* At the end of a repetition. */
void free_communicators(void);

/* requests.c: the pending requests of this rank, in the order in which they were made.
 *
 * Later calls refer to a request by its key, by its number, or as one of all pending ones; see
 * tisim's docs/traces.md. */

enum request_type { REQUEST_SEND, REQUEST_RECEIVE, REQUEST_COLLECTIVE };

struct request {
  enum request_type type;
  int communicator;
  int source, destination, tag; /* the key, as in the trace */
  bool source_lost;             /* a wait may name any source */
  int number;                   /* -1: none */
  int persistent;               /* the started persistent request, -1: none */
  void* buffer;                 /* of a received message; freed on completion */
  int64_t bytes;                /* of the buffer */
  int* counts;                  /* of a collective; freed on completion */
  bool pending;
  int next, previous; /* in the order of creation; -1: none */
  int same_hash;      /* the next request with the same hash of its number */
};

/* Location for MPI's handle of the next request. It stays there until completion: MPI may give
 * several requests the same handle, and a recorder distinguishes them by their location. */
MPI_Request* next_handle(void);
/* Adds a request, as the last pending one. */
void add_request(const struct request* like);
/* Assigns a number to the last request, or persistent request; an older one loses it. */
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
/* At the end of a rank: waits for all pending requests. */
void complete_all(void);

/* messages.c: sends, receives and probes. */

/* A message in terms of MPI. */
struct message {
  int count;
  MPI_Datatype type;
  int peer;
  int tag;
};

struct message message_of(const struct instruction* instruction);
void forget_message(const struct message* message);

/* Calls the MPI function of an instruction. `buffer`: buffer to send or receive; `request`:
 * location of the request, if the function makes one. */
void post_message(const struct instruction* instruction, void* buffer, MPI_Request* request);
/* Returns the request of a send or receive, not pending yet; a receive is given its buffer. */
struct request request_for(const struct instruction* instruction);

void send_message(const struct instruction* instruction);
void receive_message(const struct instruction* instruction);
/* The two halves of a sendrecv are executed one after the other. */
void begin_send_receive(const struct instruction* send);
void finish_send_receive(const struct instruction* receive);
void probe_message(const struct instruction* instruction);

/* collectives.c: collective calls, blocking and not. */

void call_collective(const struct instruction* instruction);

/* windows.c: the windows of the trace, by their numbers, and one-sided communication. */

void call_window(const struct instruction* instruction);
/* At the end of a repetition. */
void free_windows(void);

/* results.c: the report of rank 0, and the state that each rank publishes while it runs. */

void open_results(void);
void report_start(void);
/* Reports a finished repetition: end of each rank, in seconds after the common start, its delay at
 * the start, and its processor seconds. Called by all ranks. */
void report_repetition(int repetition, double end, double late, double processor_time);
void close_results(void);

/* Called when this rank begins an instruction. */
void show_instruction(const struct instruction* instruction);
/* Called when it has ended; with --timeline it is logged during the last repetition. */
void log_instruction(const struct instruction* instruction, double begin, double end);

/* scratch.c: the directory for the files of the trace, and its content before a repetition. */

struct scratch_file {
  char* path;
  char* directory;           /* created for the trace's mkdir; separate, as files may need `path` */
  bool is_created;           /* by the trace */
  int64_t needed;            /* bytes that must exist before */
  uint64_t hash;             /* of the path */
  struct scratch_file* next; /* of all */
  struct scratch_file* same; /* in the same hash bucket */
};

/* Returns the file of a name in the trace; each number contains one byte of the name. */
struct scratch_file* scratch_file_of(const int64_t* name, int64_t count);
/* During the rehearsal: the file is opened and has `size` bytes, -1: unknown. */
void note_open(struct scratch_file* file, bool creates, int64_t size);
void note_read(struct scratch_file* file, int64_t end);
void note_directory(struct scratch_file* file);

/* Removes files that the trace creates, and writes those it only reads. Called by all ranks. */
void prepare_files(void);
/* At the end of the program. */
void remove_files(void);

/* files.c: the file accesses of the trace: calls of POSIX and MPI-IO on real files. */

/* An open file of the trace, by its number. */
struct handle {
  int number;
  bool is_mpi;
  int file;         /* of POSIX */
  MPI_File mpi;     /* of MPI-IO */
  int64_t position; /* in the rehearsal */
  /* The view: its begin, and the bytes shown of each `distance`. 0: all bytes are shown. */
  int64_t displacement, shown, distance;
  /* The active split collective call. */
  void* buffer;
  const void* data;
  int64_t bytes;
  struct scratch_file* of;
  struct handle* next;
};

void call_file(const struct instruction* instruction);
/* Closes files that the trace has left open, at the end of a repetition. */
void close_files(void);

/* Sets the handle's view. */
void note_view(const struct instruction* instruction, struct handle* handle);

/* mpi_files.c */
void call_mpi_file(const struct instruction* instruction, struct handle* handle);
void open_mpi_file(const struct instruction* instruction, struct handle* handle,
                   const char* letters, size_t count);

#endif
