/* What the parts of the recorder share. They are used by one thread of a rank at a time. */
#ifndef TISIM_RECORD_H
#define TISIM_RECORD_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sink.h"

/* What a trace calls MPI_PROC_NULL and MPI_ANY_SOURCE. */
#define TISIM_NULL_RANK (-666)
#define TISIM_ANY_RANK (-555)

/* Where in the program a wrapper returns to. */
#define TISIM_CALLER __builtin_return_address(0)

/* session.c: whether a rank records, and what it writes.
 *
 * Each wrapper calls tisim_enter first. It is false for calls that MPI makes inside another call,
 * and where nothing is recorded: then the wrapper only performs the call, and tisim_leave_unrecorded
 * follows. The calls of other threads than the recorded one are counted. The work of the recorder
 * and of MPI between tisim_enter and tisim_leave is in no volume. */
bool tisim_enter(const char *function, const void *caller);
void tisim_leave_unrecorded(void);
/* The same of a function of MPI-IO, unless what it does in the words of POSIX is recorded instead. */
bool tisim_enter_mpi_io(const char *function, const void *caller);
/* Whether calls of MPI-IO are written; if not, they are counted. */
bool tisim_records_mpi_io(void);
void tisim_leave(void);
/* After MPI_Init, with the level of thread support that MPI provides. */
void tisim_start(int threads, const void *caller);
/* Before MPI_Finalize; before MPI_Abort. */
void tisim_finish(const void *caller);
void tisim_give_up(void);
/* Whether calls are written now: MPI_Pcontrol and tisim_record may pause the recording. */
bool tisim_is_active(void);
void tisim_pause(bool pause, const void *caller);
/* Counts the function of the wrapper as one that a trace cannot express. */
void tisim_unsupported(void);
bool tisim_keeps_failed_tests(void);

struct tisim_named tisim_on(int64_t comm);
/* Writes the computation before this call, then the call. Actions that later calls depend on (the
 * making of communicators and persistent requests) are written during a pause too: `always`. */
int64_t tisim_write(enum tisim_word word, const int64_t *arguments, size_t count,
                 const struct tisim_named *named, bool always);
/* The receive with this ticket has matched a message of this source; nothing for ticket -1. */
void tisim_write_matched(int64_t ticket, int64_t source);
/* Room for so many numbers, until the next call of this function. */
int64_t *tisim_numbers(size_t count);

/* Adds to the computation before the next call, on the thread that called MPI_Init or another. */
void tisim_add_volume(uint64_t volume);
/* Whether this is the recorded thread, in the program's own code. */
bool tisim_is_recorded_thread(void);
/* Before a parallel region. False where its threads are not counted. */
bool tisim_begin_region(const void *caller);

/* Whether this thread is in a call of MPI, or in the recorder. */
bool tisim_is_in_call(void);

/* uncounted.c: how much is computed by code that does not count itself. */
void tisim_begin_uncounted(void);
/* Writes it to a file in the directory of the parts. */
void tisim_end_uncounted(const char *directory, int rank);

/* threads.c: what the threads of the rank have computed since the last call was written. */
struct tisim_threads {
  uint64_t largest;
  uint64_t sum;
  uint32_t count; /* of threads that have computed */
};
void tisim_add_thread_volume(uint64_t volume);
/* `first`: the volume of the thread that called MPI_Init. */
struct tisim_threads tisim_take_threads(uint64_t first);

/* accelerators.c: how much of the time since the beginning the rank has waited for accelerators. */
void tisim_begin_accelerators(void);
int tisim_accelerator_percent(void);

/* counter.c: what a computation amounts to. */
const char *tisim_counter_begin(const char *name, double reference_speed);
/* Since the last restart. A counter in a register is read only where `caller`, which has called the
 * wrapper, is code of the program that counts: elsewhere the register has another meaning. */
uint64_t tisim_counter_take(const void *caller);
/* Whether each thread has a count of its own. */
bool tisim_counts_threads(void);
/* Before the program goes on; what MPI has called back in the program is not counted. */
void tisim_counter_restart(void);

/* Around what a handler of a signal does, on the thread that called MPI_Init: no computation of the
 * program. */
uint64_t tisim_counter_now(void);
void tisim_counter_resume(uint64_t before);

/* qemu.c: the count of QEMU's plug-in; NULL where the program does not run under it. */
extern const volatile uint64_t *tisim_qemu_count;

/* file_names.c: the name of a file as a trace has it, until the next call. NULL: it is none of the
 * program's data but of the kernel, or a library. `directory`: that of a relative path, as openat has
 * it. `of_rank`: a number in the name that is the rank becomes `%d`. */
const char *tisim_name_of_file(int directory, const char *path, bool of_rank);

/* handles.c: the numbers of open files, the lowest that is free; -1: there is no memory. */
int64_t tisim_take_handle(void);
void tisim_free_handle(int64_t handle);

/* communicators.c */
struct tisim_comm {
  int64_t number; /* in the trace; 0 is the world */
  int rank;
  int size;
  bool is_self; /* a communicator of this rank alone, which the trace does not know */
  /* Of an intercommunicator: the trace has one communicator of both groups instead. */
  bool is_inter;
  int remote_first; /* the number in it of the other group's first rank; 0 if it is none */
};
/* NULL, after counting the function as unsupported, for one that the trace cannot express: also for
 * intercommunicators, of which only messages can be written. */
const struct tisim_comm *tisim_comm_of(MPI_Comm comm);
const struct tisim_comm *tisim_comm_of_messages(MPI_Comm comm);
void tisim_begin_communicators(void);
void tisim_after_split(MPI_Comm parent, int color, int key, MPI_Comm made);
void tisim_after_dup(MPI_Comm parent, MPI_Comm made);
void tisim_after_create(MPI_Comm parent, MPI_Comm made);
/* Of a call that only the members of `made` make. */
void tisim_after_group(MPI_Comm parent, MPI_Comm made);
/* `variable`, of the program, holds the new communicator when the request is complete. `stride`: the
 * size of a handle there. */
void tisim_after_idup(MPI_Comm parent, const void *variable, size_t stride, MPI_Request request,
                      const void *request_variable);
void tisim_after_intercomm(MPI_Comm made);
void tisim_after_inexpressible(MPI_Comm made);
void tisim_before_comm_free(MPI_Comm comm);

/* requests.c: the pending and the persistent requests. */
struct tisim_request {
  const void *variable; /* of the program, which held the handle when the request was made */
  int64_t number; /* -1: its call has nothing to wait for */
  int64_t *more;  /* the further numbers of a call that is written as several */
  size_t more_count;
  int source_offset; /* from a status' source to the rank in the trace */
  const void *made;  /* the variable that holds a communicator when the request is complete */
  size_t made_stride;
  int64_t made_number;
  bool persistent;
  bool active;
  bool from_any;
  bool is_marked; /* cancelled; whether that has succeeded tells its status */
  int64_t ticket; /* of the receive's source; -1: none */
  uint64_t listed; /* the last list of requests that names it */
  struct group *group; /* of the requests with the same handle */
  struct tisim_request *previous;
  struct tisim_request *next;
};
struct tisim_request *tisim_request_add(MPI_Request handle, const void *variable);
/* The same for a call that is written as `count` non-blocking ones: all have numbers. */
struct tisim_request *tisim_request_add_several(MPI_Request handle, const void *variable,
                                                size_t count);
/* Makes a communicator known that a request has made. */
void tisim_after_request_of_comm(const struct tisim_request *request);
/* The request of a handle that the current list does not name yet; NULL if it is not recorded. */
struct tisim_request *tisim_request_find(MPI_Request handle, const void *variable);
void tisim_begin_list(void);
void tisim_request_done(struct tisim_request *request);
/* Of a request that the program frees. The numbers of a call that is written as several are used
 * again only if it was not active. */
void tisim_request_forget(struct tisim_request *request);

/* point_to_point.c */
int64_t tisim_bytes(int64_t count, MPI_Datatype type);
void tisim_after_send(enum tisim_word word, MPI_Count count, MPI_Datatype type, int peer, int tag,
                      MPI_Comm comm);
void tisim_after_recv(MPI_Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                      const MPI_Status *status);
void tisim_after_sendrecv(MPI_Count send_count, MPI_Datatype send_type, int destination,
                          int send_tag, MPI_Count count, MPI_Datatype type, int source, int tag,
                          MPI_Comm comm, const MPI_Status *status);
/* Sends and receives that do not block, and persistent ones. */
void tisim_after_post(enum tisim_word word, MPI_Count count, MPI_Datatype type, int peer, int tag,
                      MPI_Comm comm, MPI_Request request, const void *variable);
void tisim_after_start(MPI_Request request, const void *variable);
void tisim_after_startall(int count, const MPI_Request *requests, const void *variables,
                          size_t stride);
void tisim_after_probe(int source, int tag, MPI_Comm comm, const MPI_Status *status, bool found);
void tisim_after_mprobe(int source, int tag, MPI_Comm comm, const MPI_Status *status,
                        MPI_Message message, bool found);
void tisim_before_mrecv(MPI_Count count, MPI_Datatype type, MPI_Message message);
void tisim_after_mrecv(void);
void tisim_after_imrecv(MPI_Request request, const void *variable);

/* completion.c: waits and tests. The first function remembers the requests, which MPI resets. */
void tisim_before_completion(int count, const MPI_Request *requests, const void *variables,
                             size_t stride);
void tisim_after_one(bool is_test, bool done, const MPI_Status *status);
void tisim_after_all(bool is_test, bool done, const MPI_Status *statuses);
/* `index` counts from 0 and is negative if there was no active request. */
void tisim_after_any(bool is_test, bool done, int index, const MPI_Status *status);
/* `count` may be MPI_UNDEFINED. `first` is the index of the first request: 1 in Fortran. */
void tisim_after_some(bool is_test, int count, const int *indices, int first,
                      const MPI_Status *statuses);
void tisim_before_request_free(MPI_Request request, const void *variable);
void tisim_after_cancel(MPI_Request request, const void *variable);
/* The program's statuses, or others where it ignores them and a receive is from any source. */
MPI_Status *tisim_statuses(MPI_Status *statuses, const MPI_Status *ignored, int count, bool needed);
bool tisim_needs_statuses(void);

/* How many elements a call names of each rank or neighbour: an array of the program, whose counts
 * are large in functions such as MPI_Scatterv_c, or the same count of all. */
struct tisim_counts {
  const int *small;
  const MPI_Count *large;
  MPI_Count same; /* where there is no array */
};
static inline struct tisim_counts tisim_small_counts(const int *counts) {
  return (struct tisim_counts){counts, NULL, 0};
}
static inline struct tisim_counts tisim_large_counts(const MPI_Count *counts) {
  return (struct tisim_counts){NULL, counts, 0};
}
static inline struct tisim_counts tisim_same_count(MPI_Count count) {
  return (struct tisim_counts){NULL, NULL, count};
}
/* Of an array of either type. */
#define tisim_counts_of(counts)           \
  _Generic((counts),                      \
      const int *: tisim_small_counts,    \
      const MPI_Count *: tisim_large_counts)(counts)
static inline int64_t tisim_count(const struct tisim_counts *counts, int place) {
  if (counts->small != NULL) return counts->small[place];
  return counts->large != NULL ? counts->large[place] : counts->same;
}

/* collectives.c. `request` is NULL in blocking ones. */
struct tisim_posted {
  MPI_Request request;
  const void *variable;
};

/* neighbours.c. What a collective of neighbours sends or receives. */
struct tisim_side {
  struct tisim_counts counts; /* of each neighbour */
  MPI_Datatype type; /* of all, unless there are `types` */
  const void *types; /* of each neighbour: handles as the program's language has them */
};
void tisim_after_neighbours(struct tisim_side sent, struct tisim_side received, size_t stride,
                            MPI_Comm comm, const struct tisim_posted *posted);

void tisim_after_barrier(enum tisim_word word, MPI_Comm comm, const struct tisim_posted *posted);
void tisim_after_bcast(enum tisim_word word, MPI_Count count, MPI_Datatype type, int root,
                       MPI_Comm comm, const struct tisim_posted *posted);
void tisim_after_reduce(enum tisim_word word, MPI_Count count, MPI_Datatype type, int root,
                        MPI_Comm comm, const struct tisim_posted *posted);
/* Also of scans. */
void tisim_after_allreduce(enum tisim_word word, MPI_Count count, MPI_Datatype type, MPI_Comm comm,
                           const struct tisim_posted *posted);
void tisim_after_reducescatter(enum tisim_word word, struct tisim_counts counts,
                               MPI_Datatype type, MPI_Comm comm,
                               const struct tisim_posted *posted);
/* Gather, scatter, allgather, alltoall. `root` is -1 without one. */
void tisim_after_exchange(enum tisim_word word, const void *send_buffer, MPI_Count send_count,
                          MPI_Datatype send_type, const void *receive_buffer,
                          MPI_Count receive_count, MPI_Datatype receive_type, int root,
                          MPI_Comm comm, const struct tisim_posted *posted);
void tisim_after_gatherv(enum tisim_word word, const void *send_buffer, MPI_Count send_count,
                         MPI_Datatype send_type, struct tisim_counts counts, MPI_Datatype type,
                         int root, MPI_Comm comm, const struct tisim_posted *posted);
void tisim_after_scatterv(enum tisim_word word, struct tisim_counts counts, MPI_Datatype type,
                          const void *receive_buffer, MPI_Count receive_count,
                          MPI_Datatype receive_type, int root, MPI_Comm comm,
                          const struct tisim_posted *posted);
void tisim_after_allgatherv(enum tisim_word word, const void *send_buffer, MPI_Count send_count,
                            MPI_Datatype send_type, struct tisim_counts counts, MPI_Datatype type,
                            MPI_Comm comm, const struct tisim_posted *posted);
void tisim_after_alltoallv(enum tisim_word word, const void *send_buffer,
                           struct tisim_counts send_counts, MPI_Datatype send_type,
                           struct tisim_counts counts, MPI_Datatype type, MPI_Comm comm,
                           const struct tisim_posted *posted);
void tisim_after_alltoallw(enum tisim_word word, const void *send_buffer,
                           struct tisim_counts send_counts, const MPI_Datatype *send_types,
                           struct tisim_counts counts, const MPI_Datatype *types, MPI_Comm comm,
                           const struct tisim_posted *posted);

/* mpi_io.c */
void tisim_after_file_open(MPI_Comm comm, const char *name, int mode, MPI_File file);
void tisim_before_file_close(MPI_File file);
/* `bytes` of a count of elements of a type; a read says by its status how many there were. The first
 * two functions are called before a call that moves a position: they find where it is. */
void tisim_before_file_transfer(MPI_File file);
void tisim_before_file_transfer_at(MPI_File file, MPI_Offset offset);
void tisim_after_file_transfer(enum tisim_word word, MPI_File file, MPI_Count count,
                               MPI_Datatype type, const MPI_Status *status);
void tisim_after_file_shared(enum tisim_word word, MPI_File file, MPI_Count count,
                             MPI_Datatype type, const MPI_Status *status);
/* Of calls that do not block. */
void tisim_after_file_post(enum tisim_word word, MPI_File file, MPI_Count count,
                           MPI_Datatype type, MPI_Request request, const void *variable);
void tisim_after_file_shared_post(enum tisim_word word, MPI_File file, MPI_Count count,
                                  MPI_Datatype type, MPI_Request request, const void *variable);
void tisim_after_file_seek_shared(MPI_File file, MPI_Offset offset, int from);
/* A call without further arguments, and one with a number of bytes. */
void tisim_after_file_end(enum tisim_word word, MPI_File file);
void tisim_after_file_call(enum tisim_word word, MPI_File file);
void tisim_after_file_size(enum tisim_word word, MPI_File file, MPI_Offset bytes);
void tisim_after_file_view(MPI_File file);

#endif
