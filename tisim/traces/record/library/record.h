/* The calls of MPI as the recorder writes them: what the wrappers of its functions call. The files
 * behind it use the session (session.h), and those above in this header. */
#ifndef TISIM_RECORD_H
#define TISIM_RECORD_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session.h"

/* Open MPI 5.0 is of version 3.1, but has the functions of 4.0, except those of large counts. */
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

/* files.c: the name of a file as a trace has it, until the next call. NULL: it is none of the
 * program's data but of the kernel, or a library. `directory`: that of a relative path, as openat
 * has it. `of_rank`: a number in the name that is the rank becomes `%d`. */
const char* tisim_name_of_file(int directory, const char* path, bool of_rank);

/* The numbers of open files, the lowest that is free. */
int64_t tisim_take_handle(void);
void tisim_free_handle(int64_t handle);
/* files.c, windows.c; -1: it is not recorded. */
int64_t tisim_number_of_file(MPI_File file);
int64_t tisim_number_of_window(MPI_Win window);

/* communicators.c */
struct tisim_comm {
  int64_t number; /* in the trace; 0 is the world */
  int rank;
  int size;
  bool is_self; /* a communicator of this rank alone, which the trace does not know */
  /* An intercommunicator: the trace has one communicator of both groups instead. */
  bool is_inter;
  int remote_first; /* the number in it of the other group's first rank; 0 if it is none */
};
/* NULL, after counting the function as unsupported, for one that the trace cannot express: also for
 * intercommunicators, of which only messages can be written. */
const struct tisim_comm* tisim_comm_of(MPI_Comm comm);
const struct tisim_comm* tisim_comm_of_messages(MPI_Comm comm);
/* -1: it has none. */
int64_t tisim_number_of_comm(MPI_Comm comm);
void tisim_begin_communicators(void);
void tisim_after_split(MPI_Comm parent, int color, int key, MPI_Comm made);
void tisim_after_dup(MPI_Comm parent, MPI_Comm made);
void tisim_after_create(MPI_Comm parent, MPI_Comm made);
/* After a call that only the members of `made` make. */
void tisim_after_group(MPI_Comm parent, MPI_Comm made);
/* `variable`, of the program, holds the new communicator when the request is complete. `stride`:
 * the size of a handle there. */
void tisim_after_idup(MPI_Comm parent, const void* variable, size_t stride, MPI_Request request,
                      const void* request_variable);
void tisim_after_intercomm(MPI_Comm made);
bool tisim_is_inter(MPI_Comm comm);
/* The own group of an intercommunicator that is written, which is in the trace from the first call
 * on; `local` is MPI's communicator of it. A collective of the group. */
const struct tisim_comm* tisim_group_of(MPI_Comm comm, MPI_Comm* local);
void tisim_after_merge(MPI_Comm inter, MPI_Comm made);
void tisim_after_spawn(int root, MPI_Comm comm, MPI_Comm made);
void tisim_after_inexpressible(MPI_Comm made);
void tisim_before_comm_free(MPI_Comm comm);

/* requests.c: the pending and the persistent requests. */
struct tisim_request {
  const void* variable; /* of the program, which held the handle when the request was made */
  int64_t number;       /* -1: its call has nothing to wait for */
  int64_t* more;        /* the further numbers of a call that is written as several */
  size_t more_count;
  int source_offset; /* from a status' source to the rank in the trace */
  const void* made;  /* the variable that holds a communicator when the request is complete */
  size_t made_stride;
  int64_t made_number;
  bool persistent;
  /* A persistent call that the trace has anew at each start; NULL: the trace has the request. */
  struct tisim_kept_call* kept;
  bool active;
  bool from_any;
  bool is_receive;     /* its status has a source and a tag */
  bool is_of_file;     /* of a call of MPI-IO */
  bool is_marked;      /* cancelled; whether that has succeeded tells its status */
  int64_t ticket;      /* of the receive's source; -1: none */
  uint64_t listed;     /* the last list of requests that names it */
  struct group* group; /* of the requests with the same handle */
  struct tisim_request* previous;
  struct tisim_request* next;
};
struct tisim_request* tisim_request_add(MPI_Request handle, const void* variable);
/* The same for a call that is written as `count` non-blocking ones: all have numbers. */
struct tisim_request* tisim_request_add_several(MPI_Request handle, const void* variable,
                                                size_t count);
/* A call that a start of its request writes: when all its parts are ready. */
struct tisim_kept_call {
  enum tisim_word word;
  int64_t comm;
  int parts;
  int ready; /* of them, since the last start */
  size_t count;
  int64_t arguments[];
};
void tisim_request_keep(MPI_Request handle, const void* variable, enum tisim_word word,
                        int64_t comm, int parts, const int64_t* arguments, size_t count);
/* Writes the call of a request that has started, with the number of it. */
void tisim_write_kept(const struct tisim_request* request);
/* Makes a communicator known that a request has made. */
void tisim_after_request_of_comm(const struct tisim_request* request);
/* The number of the oldest request of a handle; -1: it is not recorded, or has none. */
int64_t tisim_number_of_request(MPI_Request handle);
/* The request of a handle that the current list does not name yet; NULL if it is not recorded. */
struct tisim_request* tisim_request_find(MPI_Request handle, const void* variable);
void tisim_begin_list(void);
void tisim_request_done(struct tisim_request* request);
/* Forgets a request that the program frees. The numbers of a call that is written as several are
 * used again only if it was not active. */
void tisim_request_forget(struct tisim_request* request);

/* Key for `tisim_asked`: a question of this kind about things of these numbers. */
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
/* `status`: of a receive, NULL if it is not needed. */
void tisim_after_message(enum tisim_word word, MPI_Count count, MPI_Datatype type, int peer,
                         int tag, MPI_Comm comm, const MPI_Status* status);
void tisim_after_sendrecv(MPI_Count send_count, MPI_Datatype send_type, int destination,
                          int send_tag, MPI_Count count, MPI_Datatype type, int source, int tag,
                          MPI_Comm comm, const MPI_Status* status);
/* Sends and receives that do not block, and persistent ones. */
void tisim_after_post(enum tisim_word word, MPI_Count count, MPI_Datatype type, int peer, int tag,
                      MPI_Comm comm, MPI_Request request, const void* variable);
void tisim_after_isendrecv(MPI_Count send_count, MPI_Datatype send_type, int destination,
                           int send_tag, MPI_Count count, MPI_Datatype type, int source, int tag,
                           MPI_Comm comm, MPI_Request request, const void* variable);
/* A message in parts, which is sent when all of them are ready. */
void tisim_after_partitioned(enum tisim_word word, int parts, MPI_Count count, MPI_Datatype type,
                             int peer, int tag, MPI_Comm comm, MPI_Request request,
                             const void* variable);
void tisim_after_ready(int parts, MPI_Request request);
void tisim_after_start(MPI_Request request, const void* variable);
void tisim_after_startall(int count, const MPI_Request* requests, const void* variables,
                          size_t stride);
void tisim_after_probe(int source, int tag, MPI_Comm comm, const MPI_Status* status, bool found);
/* For probes that may find nothing, before the two functions around this one. */
void tisim_asked_for_message(int source, int tag, MPI_Comm comm, bool found);
void tisim_after_mprobe(int source, int tag, MPI_Comm comm, const MPI_Status* status,
                        MPI_Message message, bool found);
void tisim_before_mrecv(MPI_Count count, MPI_Datatype type, MPI_Message message);
void tisim_after_mrecv(void);
void tisim_after_imrecv(MPI_Request request, const void* variable);

/* True if the status at this place of the call at hand is of a request that is no receive. */
bool tisim_status_is_empty(int place);

/* Waits and tests. The first function remembers the requests, which MPI resets. */
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
/* The program's statuses, or others where it ignores them and a receive is from any source. */
MPI_Status* tisim_statuses(MPI_Status* statuses, const MPI_Status* ignored, int count, bool needed);
bool tisim_needs_statuses(void);

/* How many elements a call names of each rank or neighbour: an array of the program, whose counts
 * are large in functions such as MPI_Scatterv_c, or the same count of all. */
struct tisim_counts {
  const int* small;
  const MPI_Count* large;
  MPI_Count same; /* where there is no array */
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
/* Counts from an array of either type. */
#define tisim_counts_of(counts) \
  _Generic((counts), const int* : tisim_small_counts, const MPI_Count* : tisim_large_counts)(counts)
static inline int64_t tisim_count(const struct tisim_counts* counts, int place) {
  if (counts->small != NULL) return counts->small[place];
  return counts->large != NULL ? counts->large[place] : counts->same;
}

/* collectives.c. What a rank sends or receives in a collective. */
struct tisim_side {
  const void* buffer;         /* where MPI_IN_PLACE has a meaning */
  struct tisim_counts counts; /* of each rank or neighbour */
  MPI_Datatype type;          /* of all, unless there are `types` */
  const void* types;          /* of each: handles as the program's language has them */
  size_t stride;              /* the size of a handle there */
};
#define tisim_data(buffer, counts, type) (&(struct tisim_side){buffer, counts, type, NULL, 0})
#define tisim_typed_data(buffer, counts, types, stride) \
  (&(struct tisim_side){buffer, counts, MPI_DATATYPE_NULL, types, stride})
/* The bytes for or of one rank or neighbour. */
int64_t tisim_bytes_at(const struct tisim_side* side, int place);

/* A collective that does not block. */
struct tisim_posted {
  enum tisim_word word;
  MPI_Request request;
  const void* variable;
  bool is_persistent; /* the call is made at each start of the request */
};
/* `word` is that of the call that blocks, and `posted` NULL in it. `root` is -1 without one. Where
 * both sides have the same data, or none, `received` is NULL. The function may change the sides. */
void tisim_after_collective(enum tisim_word word, struct tisim_side* sent,
                            struct tisim_side* received, int root, MPI_Comm comm,
                            const struct tisim_posted* posted);
struct tisim_degrees {
  int in;
  int out;
};
/* How many neighbours this rank has. */
struct tisim_degrees tisim_degrees_of(MPI_Comm comm);

/* The tags of messages that stand for a collective are above those that programs use. */
#define TISIM_FIRST_TAG 2147483000

/* between_groups.c: false where nothing is written: on other communicators than those of two
 * groups, and of persistent calls. */
bool tisim_between_groups(enum tisim_word word, const struct tisim_side* sent,
                          const struct tisim_side* received, int root, MPI_Comm comm,
                          const struct tisim_posted* posted);

/* files.c: what a derived type was made of. */
struct tisim_contents {
  int combiner;
  int integer_count, address_count, type_count;
  int* integers;
  MPI_Aint* addresses;
  MPI_Datatype* types;
  bool is_taken;
};
/* False of a basic type, and where it fails. `tisim_drop_contents` follows in any case. */
bool tisim_take_contents(MPI_Datatype type, struct tisim_contents* contents);
void tisim_drop_contents(struct tisim_contents* contents);

/* The calls of MPI-IO. */
void tisim_after_file_open(MPI_Comm comm, const char* name, int mode, MPI_File file);
void tisim_before_file_close(MPI_File file);
/* `bytes` of a count of elements of a type; a read says by its status how many there were. The
 * first two functions are called before a call that moves a position: they find where it is. */
void tisim_before_file_transfer(MPI_File file);
void tisim_before_file_transfer_at(MPI_File file, MPI_Offset offset);
void tisim_after_file_transfer(enum tisim_word word, MPI_File file, MPI_Count count,
                               MPI_Datatype type, const MPI_Status* status);
void tisim_after_file_shared(enum tisim_word word, MPI_File file, MPI_Count count,
                             MPI_Datatype type, const MPI_Status* status);
/* After nonblocking calls. */
void tisim_after_file_post(enum tisim_word word, MPI_File file, MPI_Count count, MPI_Datatype type,
                           MPI_Request request, const void* variable);
void tisim_after_file_shared_post(enum tisim_word word, MPI_File file, MPI_Count count,
                                  MPI_Datatype type, MPI_Request request, const void* variable);
void tisim_after_file_seek_shared(MPI_File file, MPI_Offset offset, int from);
/* A call without further arguments, and one with a number of bytes. */
void tisim_after_file_end(enum tisim_word word, MPI_File file);
void tisim_after_file_call(enum tisim_word word, MPI_File file);
void tisim_after_file_size(enum tisim_word word, MPI_File file, MPI_Offset bytes);
void tisim_after_file_view(MPI_File file);

/* windows.c */
void tisim_after_window(enum tisim_word word, MPI_Aint size, MPI_Comm comm, MPI_Win window);
void tisim_before_win_free(MPI_Win window);
void tisim_after_win_fence(int assertion, MPI_Win window);
/* After calls with a group of ranks, without further arguments, with a target. */
void tisim_after_win_group(enum tisim_word word, MPI_Group group, MPI_Win window);
void tisim_after_win_call(enum tisim_word word, MPI_Win window);
void tisim_after_win_test(bool done, MPI_Win window);
void tisim_after_win_target(enum tisim_word word, int target, MPI_Win window);
void tisim_after_win_lock(int type, int target, MPI_Win window);
/* `op` is MPI_OP_NULL where it does not matter. */
void tisim_after_access(enum tisim_word word, int target, MPI_Count count, MPI_Datatype type,
                        MPI_Op op, MPI_Win window);
void tisim_after_access_post(enum tisim_word word, int target, MPI_Count count, MPI_Datatype type,
                             MPI_Op op, MPI_Win window, MPI_Request request, const void* variable);

#endif
