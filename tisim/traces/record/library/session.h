/* The session of a rank: whether it records, and the writing of calls. One thread of a rank uses it
 * at a time. It uses the layers below (state, counting, places, writers), and does not depend on
 * the MPI calls that it writes. */
#ifndef TISIM_SESSION_H
#define TISIM_SESSION_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "state.h"
#include "writer.h"

/* The location in the program to which a wrapper returns. */
#define TISIM_CALLER __builtin_return_address(0)

/* Each wrapper calls tisim_enter first. It returns false for calls that MPI makes inside another
 * call, and if nothing is recorded: then the wrapper only performs the call, and calls
 * tisim_leave_unrecorded. Calls of threads other than the recorded one are counted. The work of the
 * recorder and of MPI between tisim_enter and tisim_leave is not part of any volume. */
bool tisim_enter(const char* function, const void* caller);
void tisim_leave_unrecorded(void);
/* The same for an MPI-IO function, unless its POSIX calls are recorded instead. */
bool tisim_enter_mpi_io(const char* function, const void* caller);
/* The same for functions without a line in the trace. Those of other threads are not counted, and
 * MPI-IO ones are not entered if POSIX calls are recorded: the trace then has these. */
bool tisim_enter_untraced(const char* function, const void* caller);
bool tisim_enter_untraced_mpi_io(const char* function, const void* caller);
/* True if MPI-IO calls are written; otherwise they are counted. */
bool tisim_records_mpi_io(void);
/* Bracket the execution of the current MPI-IO function: its POSIX calls are recorded if both
 * layers are. */
void tisim_begin_mpi_io(void);
void tisim_end_mpi_io(void);
/* As tisim_enter, for a POSIX call inside an MPI-IO function; false elsewhere. */
bool tisim_enter_nested_posix(void);
/* True between tisim_enter_nested_posix and tisim_leave. */
bool tisim_is_nested_posix(void);
/* The layer of MPI-IO calls. */
enum tisim_layer tisim_upper_layer(void);
void tisim_leave(void);
/* Called after MPI_Init, with the level of thread support provided by MPI. Returns false if nothing
 * is recorded; otherwise tisim_begin follows when all is ready for the program's first call. */
bool tisim_prepare(int threads);
/* The number of this rank in the trace: its rank in MPI_COMM_WORLD, unless it was spawned. */
int tisim_own_rank(void);
/* True if spawned processes are ranks of the trace. */
bool tisim_records_spawned(void);
/* Claims numbers for additional ranks; returns the previous number of ranks. */
int tisim_claim_ranks(int count);
/* Returns the number claimed by one of the parents; the children pass -1. Collective over both. */
int tisim_agree_on_ranks(MPI_Comm between, int claimed);
/* True if the first computation includes the time of MPI_Init. */
bool tisim_adds_init(void);
/* After MPI_Init, which took `in_init` nanoseconds. */
void tisim_begin(const void* caller, uint64_t in_init);
/* Before MPI_Finalize; before MPI_Abort. */
void tisim_finish(const char* function, const void* caller);
void tisim_abort_recording(void);
void tisim_pause(bool pause, const void* caller);
/* Counts the wrapper's function as one that a trace cannot express. */
void tisim_unsupported(void);
bool tisim_keeps_failed_tests(void);
/* Records a test by the program; `key` identifies what it tests. The interval since its previous
 * test may be polling, which is not computation. Called before the answer is written. */
void tisim_record_test(uint64_t key, bool answer);

struct tisim_named tisim_on(int64_t comm);
/* Writes the computation before this call, then the call. Actions that later calls depend on, such
 * as creating communicators and persistent requests, are `always` written, even when paused. */
int64_t tisim_write(enum tisim_word word, const int64_t* arguments, size_t count,
                    const struct tisim_named* named, bool always);
/* Reports the source of the message matched by the receive with this ticket; ignores ticket -1. */
void tisim_write_matched(int64_t ticket, int64_t source);
/* Returns room for `count` numbers, valid until the next call of this function. */
int64_t* tisim_numbers(size_t count);

/* Adds to the computation before the next call, on any thread. */
void tisim_add_volume(uint64_t volume);
/* Called before a parallel region. Returns false if its threads are not counted. */
bool tisim_begin_region(const void* caller);

#endif
