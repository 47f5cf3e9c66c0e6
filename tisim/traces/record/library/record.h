/* The hooks by which the wrappers of MPI functions write calls. The files that implement them use
 * the session (session.h) and the hooks declared above them in this header. */
#ifndef TISIM_RECORD_H
#define TISIM_RECORD_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session.h"

/* Open MPI 5.0 reports version 3.1, but has the functions of 4.0 except those with large counts. */
#if MPI_VERSION >= 4
#define HAS_MPI_4 1
#define HAS_LARGE_COUNTS 1
#elif defined(OMPI_MAJOR_VERSION)
#define HAS_MPI_4 (OMPI_MAJOR_VERSION >= 5)
#define HAS_LARGE_COUNTS 0
#else
#define HAS_MPI_4 0
#define HAS_LARGE_COUNTS 0
#endif

/* MPICH 4.0 declares one array without `const`. */
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
#define TISIM_PART int
#else
#define TISIM_PART const int
#endif

/* The numbers of MPI_PROC_NULL and MPI_ANY_SOURCE in a trace. */
#define TISIM_NULL_RANK (-666)
#define TISIM_ANY_RANK (-555)

/* files.c: returns the name of a file in a trace, valid until the next call. NULL if it belongs to
 * the kernel or is a library, rather than data of the program. `directory`: base of a relative
 * path, as in openat. `of_rank`: replaces a number in the name that equals the rank by `%d`. */
const char* tisim_name_of_file(int directory, const char* path, bool of_rank);

/* Allocates the lowest free number for an open file. */
int64_t tisim_take_handle(void);
void tisim_free_handle(int64_t handle);
/* files.c, windows.c; -1 if not recorded. */
int64_t tisim_number_of_file(MPI_File file);
int64_t tisim_number_of_window(MPI_Win window);

/* communicators.c */
struct tisim_comm {
  int64_t number; /* in the trace; 0 is the world */
  int rank;
  int size;
  bool is_self; /* a communicator of this rank alone, which the trace does not know */
  /* An intercommunicator, for which the trace has one communicator of both groups. */
  bool is_inter;
  int remote_first; /* the number in it of the other group's first rank; 0 otherwise */
};
/* Return NULL, after counting the function as unsupported, for a communicator that the trace cannot
 * express; the first one also for intercommunicators, on which only messages can be written. */
const struct tisim_comm* tisim_comm_of(MPI_Comm comm);
const struct tisim_comm* tisim_comm_of_messages(MPI_Comm comm);
/* -1 if it has none. */
int64_t tisim_number_of_comm(MPI_Comm comm);
void tisim_begin_communicators(void);
void tisim_after_split(MPI_Comm parent, int color, int key, MPI_Comm made);
void tisim_after_dup(MPI_Comm parent, MPI_Comm made);
void tisim_after_create(MPI_Comm parent, MPI_Comm made);
/* After a call made only by the members of `made`. */
void tisim_after_group(MPI_Comm parent, MPI_Comm made);
/* `variable`, in the program, receives the new communicator once the request completes. `stride`:
 * the size of a handle there. */
void tisim_after_idup(MPI_Comm parent, const void* variable, size_t stride, MPI_Request request,
                      const void* request_variable);
void tisim_after_intercomm(MPI_Comm made);
bool tisim_is_inter(MPI_Comm comm);
/* Returns the own group of a written intercommunicator, which is in the trace from the first call
 * on; `local` is its MPI communicator. Collective over the group. */
const struct tisim_comm* tisim_group_of(MPI_Comm comm, MPI_Comm* local);
void tisim_after_merge(MPI_Comm inter, MPI_Comm made);
void tisim_after_spawn(int root, MPI_Comm comm, MPI_Comm made);
void tisim_after_inexpressible(MPI_Comm made);
void tisim_before_comm_free(MPI_Comm comm);

/* requests.c: pending and persistent requests. */
struct tisim_request {
  const void* variable; /* in the program; it held the handle when the request was created */
  int64_t number;       /* -1: its call has nothing to wait for */
  int64_t* more;        /* the additional numbers of a call written as several */
  size_t more_count;
  int source_offset; /* offset from a status' source to the rank in the trace */
  const void* made;  /* the variable that receives a communicator on completion */
  size_t made_stride;
  int64_t made_number;
  bool persistent;
  /* A persistent call that the trace repeats at each start; NULL: the trace has the request. */
  struct tisim_kept_call* kept;
  bool active;
  bool from_any;
  bool is_receive;     /* its status has a source and a tag */
  bool is_of_file;     /* of an MPI-IO call */
  bool is_marked;      /* cancelled; its status tells whether that succeeded */
  int64_t ticket;      /* of the receive's source; -1: none */
  uint64_t listed;     /* the last list of requests that contains it */
  struct group* group; /* of the requests with the same handle */
  struct tisim_request* previous;
  struct tisim_request* next;
};
struct tisim_request* tisim_request_add(MPI_Request handle, const void* variable);
/* The same for a call that is written as `count` non-blocking ones, each with a number. */
struct tisim_request* tisim_request_add_several(MPI_Request handle, const void* variable,
                                                size_t count);
/* A call that a start of its request writes, once all its parts are ready. */
struct tisim_kept_call {
  enum tisim_word word;
  int64_t comm;
  int parts;
  int ready; /* number of ready parts since the last start */
  size_t count;
  int64_t arguments[];
};
void tisim_request_keep(MPI_Request handle, const void* variable, enum tisim_word word,
                        int64_t comm, int parts, const int64_t* arguments, size_t count);
/* Writes the call of a started request with its number. */
void tisim_write_kept(const struct tisim_request* request);
/* Registers a communicator created by a request. */
void tisim_after_request_of_comm(const struct tisim_request* request);
/* Returns the number of a handle's oldest request; -1 if it is not recorded, or has none. */
int64_t tisim_number_of_request(MPI_Request handle);
/* Returns a handle's request that the current list does not yet contain; NULL if not recorded. */
struct tisim_request* tisim_request_find(MPI_Request handle, const void* variable);
void tisim_begin_list(void);
void tisim_request_done(struct tisim_request* request);
/* Drops a request that the program frees. The numbers of a call that is written as several are
 * reused only if it was not active. */
void tisim_request_forget(struct tisim_request* request);

/* Returns the key for `tisim_record_test` of a test of this kind on objects with these numbers. */
static inline uint64_t tisim_key(enum tisim_word kind, const uint64_t* numbers, size_t count) {
  uint64_t key = (uint64_t)kind;
  for (size_t i = 0; i < count; ++i) {
    key = (key ^ numbers[i]) * UINT64_C(0x9E3779B97F4A7C15);
    key ^= key >> 32;
  }
  return key;
}

/* point_to_point.c */
int64_t tisim_bytes(int64_t count, MPI_Datatype type);
/* `status`: of a receive, NULL if not needed. */
void tisim_after_message(enum tisim_word word, MPI_Count count, MPI_Datatype type, int peer,
                         int tag, MPI_Comm comm, const MPI_Status* status);
void tisim_after_sendrecv(MPI_Count send_count, MPI_Datatype send_type, int destination,
                          int send_tag, MPI_Count count, MPI_Datatype type, int source, int tag,
                          MPI_Comm comm, const MPI_Status* status);
/* Non-blocking and persistent sends and receives. */
void tisim_after_post(enum tisim_word word, MPI_Count count, MPI_Datatype type, int peer, int tag,
                      MPI_Comm comm, MPI_Request request, const void* variable);
void tisim_after_isendrecv(MPI_Count send_count, MPI_Datatype send_type, int destination,
                           int send_tag, MPI_Count count, MPI_Datatype type, int source, int tag,
                           MPI_Comm comm, MPI_Request request, const void* variable);
/* A partitioned message, which is sent when all parts are ready. */
void tisim_after_partitioned(enum tisim_word word, int parts, MPI_Count count, MPI_Datatype type,
                             int peer, int tag, MPI_Comm comm, MPI_Request request,
                             const void* variable);
void tisim_after_ready(int parts, MPI_Request request);
void tisim_after_start(MPI_Request request, const void* variable);
void tisim_after_startall(int count, const MPI_Request* requests, const void* variables,
                          size_t stride);
void tisim_after_probe(int source, int tag, MPI_Comm comm, const MPI_Status* status, bool found);
/* For non-blocking probes, before tisim_after_probe or tisim_after_mprobe. */
void tisim_record_probe(int source, int tag, MPI_Comm comm, bool found);
void tisim_after_mprobe(int source, int tag, MPI_Comm comm, const MPI_Status* status,
                        MPI_Message message, bool found);
void tisim_before_mrecv(MPI_Count count, MPI_Datatype type, MPI_Message message);
void tisim_after_mrecv(void);
void tisim_after_imrecv(MPI_Request request, const void* variable);

/* True if the status at this place of the current call belongs to a non-receive request. */
bool tisim_status_is_empty(int place);

/* Waits and tests. The first function saves the requests, which MPI resets. */
void tisim_before_completion(int count, const MPI_Request* requests, const void* variables,
                             size_t stride);
void tisim_after_one(bool is_test, bool done, const MPI_Status* status);
void tisim_after_all(bool is_test, bool done, const MPI_Status* statuses);
/* `index` counts from 0 and is negative if there was no active request. */
void tisim_after_any(bool is_test, bool done, int index, const MPI_Status* status);
/* `count` may be MPI_UNDEFINED. `first` is the index of the first request: 1 in Fortran. */
void tisim_after_some(bool is_test, int count, const int* indices, int first,
                      const MPI_Status* statuses);
void tisim_before_request_free(MPI_Request request, const void* variable);
void tisim_after_cancel(MPI_Request request, const void* variable);
/* Returns the program's statuses, or others if it ignores them and a receive is from any source. */
MPI_Status* tisim_statuses(MPI_Status* statuses, const MPI_Status* ignored, int count, bool needed);
bool tisim_needs_statuses(void);

/* Number of elements per rank or neighbour of a call: an array of the program, with large counts in
 * functions such as MPI_Scatterv_c, or the same count for all. */
struct tisim_counts {
  const int* small;
  const MPI_Count* large;
  MPI_Count same; /* if there is no array */
};
static inline struct tisim_counts tisim_small_counts(const int* counts) {
  return (struct tisim_counts){counts, NULL, 0};
}
static inline struct tisim_counts tisim_large_counts(const MPI_Count* counts) {
  return (struct tisim_counts){NULL, counts, 0};
}
static inline struct tisim_counts tisim_same_count(MPI_Count count) {
  return (struct tisim_counts){NULL, NULL, count};
}
/* Makes counts from an array of either type. */
#define tisim_counts_of(counts) \
  _Generic((counts), const int* : tisim_small_counts, const MPI_Count* : tisim_large_counts)(counts)
static inline int64_t tisim_count(const struct tisim_counts* counts, int place) {
  if (counts->small != NULL) return counts->small[place];
  return counts->large != NULL ? counts->large[place] : counts->same;
}

/* collectives.c: the data that a rank sends or receives in a collective. */
struct tisim_side {
  const void* buffer;         /* if MPI_IN_PLACE is meaningful */
  struct tisim_counts counts; /* of each rank or neighbour */
  MPI_Datatype type;          /* of all, unless there are `types` */
  const void* types;          /* of each: handles in the program's language */
  size_t stride;              /* the size of a handle there */
};
#define tisim_data(buffer, counts, type) (&(struct tisim_side){buffer, counts, type, NULL, 0})
#define tisim_typed_data(buffer, counts, types, stride) \
  (&(struct tisim_side){buffer, counts, MPI_DATATYPE_NULL, types, stride})
/* The bytes for or from one rank or neighbour. */
int64_t tisim_bytes_at(const struct tisim_side* side, int place);

/* A non-blocking collective. */
struct tisim_posted {
  enum tisim_word word;
  MPI_Request request;
  const void* variable;
  bool is_persistent; /* the call is made at each start of the request */
};
/* `word` is the blocking action, for which `posted` is NULL. `root` is -1 if there is none. If both
 * sides have the same data, or none, `received` is NULL. The function may change the sides. */
void tisim_after_collective(enum tisim_word word, struct tisim_side* sent,
                            struct tisim_side* received, int root, MPI_Comm comm,
                            const struct tisim_posted* posted);
struct tisim_degrees {
  int in;
  int out;
};
/* Returns this rank's numbers of neighbours. */
struct tisim_degrees tisim_degrees_of(MPI_Comm comm);

/* Messages that implement a collective have tags above those that programs use. */
#define TISIM_FIRST_TAG 2147483000

/* intercomm_collectives.c: returns false if nothing is written: on communicators other than
 * intercommunicators, and for persistent calls. */
bool tisim_write_intercomm_collective(enum tisim_word word, const struct tisim_side* sent,
                                      const struct tisim_side* received, int root, MPI_Comm comm,
                                      const struct tisim_posted* posted);

/* files.c: the construction of a derived type. */
struct tisim_contents {
  int combiner;
  int integer_count, address_count, type_count;
  int* integers;
  MPI_Aint* addresses;
  MPI_Datatype* types;
  bool is_taken;
};
/* Returns false for a basic type, and on failure. `tisim_drop_contents` follows in any case. */
bool tisim_take_contents(MPI_Datatype type, struct tisim_contents* contents);
void tisim_drop_contents(struct tisim_contents* contents);

/* MPI-IO calls. */
void tisim_after_file_open(MPI_Comm comm, const char* name, int mode, MPI_File file);
void tisim_before_file_close(MPI_File file);
/* The transfer of `count` elements of a type; the status of a read gives the actual number. The
 * first two functions are called before a call that moves a position, to find its start. */
void tisim_before_file_transfer(MPI_File file);
void tisim_before_file_transfer_at(MPI_File file, MPI_Offset offset);
void tisim_after_file_transfer(enum tisim_word word, MPI_File file, MPI_Count count,
                               MPI_Datatype type, const MPI_Status* status);
void tisim_after_file_shared(enum tisim_word word, MPI_File file, MPI_Count count,
                             MPI_Datatype type, const MPI_Status* status);
/* After non-blocking calls. */
void tisim_after_file_post(enum tisim_word word, MPI_File file, MPI_Count count, MPI_Datatype type,
                           MPI_Request request, const void* variable);
void tisim_after_file_shared_post(enum tisim_word word, MPI_File file, MPI_Count count,
                                  MPI_Datatype type, MPI_Request request, const void* variable);
void tisim_after_file_seek_shared(MPI_File file, MPI_Offset offset, int from);
/* After calls without further arguments, and with a number of bytes. */
void tisim_after_file_end(enum tisim_word word, MPI_File file);
void tisim_after_file_call(enum tisim_word word, MPI_File file);
void tisim_after_file_size(enum tisim_word word, MPI_File file, MPI_Offset bytes);
void tisim_after_file_view(MPI_File file);

/* windows.c */
void tisim_after_window(enum tisim_word word, MPI_Aint size, MPI_Comm comm, MPI_Win window);
void tisim_before_win_free(MPI_Win window);
void tisim_after_win_fence(int assertion, MPI_Win window);
/* After calls with a group of ranks, without further arguments, or with a target. */
void tisim_after_win_group(enum tisim_word word, MPI_Group group, MPI_Win window);
void tisim_after_win_call(enum tisim_word word, MPI_Win window);
void tisim_after_win_test(bool done, MPI_Win window);
void tisim_after_win_target(enum tisim_word word, int target, MPI_Win window);
void tisim_after_win_lock(int type, int target, MPI_Win window);
/* `op` is MPI_OP_NULL if it does not matter. */
void tisim_after_access(enum tisim_word word, int target, MPI_Count count, MPI_Datatype type,
                        MPI_Op op, MPI_Win window);
void tisim_after_access_post(enum tisim_word word, int target, MPI_Count count, MPI_Datatype type,
                             MPI_Op op, MPI_Win window, MPI_Request request, const void* variable);

#endif
