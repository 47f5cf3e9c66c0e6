/* The session of a rank: whether it records, and what it writes. One thread of a rank uses it at a
 * time. It knows the layers below (state, counting, places, writers), and nothing of the calls of
 * MPI that it writes. */
#ifndef TISIM_SESSION_H
#define TISIM_SESSION_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "state.h"
#include "writer.h"

/* Where in the program a wrapper returns to. */
#define TISIM_CALLER __builtin_return_address(0)

/* Each wrapper calls tisim_enter first. It is false for calls that MPI makes inside another call,
 * and where nothing is recorded: then the wrapper only performs the call, and
 * tisim_leave_unrecorded follows. The calls of other threads than the recorded one are counted. The
 * work of the recorder and of MPI between tisim_enter and tisim_leave is in no volume. */
bool tisim_enter(const char* function, const void* caller);
void tisim_leave_unrecorded(void);
/* The same of a function of MPI-IO, unless what it does in the words of POSIX is recorded instead.
 */
bool tisim_enter_mpi_io(const char* function, const void* caller);
/* The same of functions of which a trace has no line. Those of other threads are not counted, and
 * where calls of POSIX are recorded, those of MPI-IO are not entered: the program makes these. */
bool tisim_enter_unwritten(const char* function, const void* caller);
bool tisim_enter_unwritten_mpi_io(const char* function, const void* caller);
/* True if calls of MPI-IO are written; if not, they are counted. */
bool tisim_records_mpi_io(void);
/* Around what the function of MPI-IO at hand does: the calls of POSIX that it makes are recorded if
 * both layers are. */
void tisim_begin_mpi_io(void);
void tisim_end_mpi_io(void);
/* As tisim_enter, of a call of POSIX there; false elsewhere. */
bool tisim_enter_beneath(void);
/* True between tisim_enter_beneath and tisim_leave. */
bool tisim_is_beneath(void);
/* The layer of calls of MPI-IO. */
enum tisim_layer tisim_upper_layer(void);
void tisim_leave(void);
/* After MPI_Init, with the level of thread support that MPI provides. False: nothing is recorded;
 * otherwise tisim_begin follows when all is ready for the first call of the program. */
bool tisim_prepare(int threads);
/* The number of this rank in the trace: its rank in MPI_COMM_WORLD, unless it was spawned. */
int tisim_own_rank(void);
/* True if spawned processes are ranks of the trace. */
bool tisim_records_spawned(void);
/* Numbers for more ranks: how many there were before. */
int tisim_claim_ranks(int count);
/* The number claimed by one of the parents; the children claim -1. A collective of both. */
int tisim_agree_on_ranks(MPI_Comm between, int claimed);
/* True if the first computation has the time of MPI_Init, too. */
bool tisim_adds_init(void);
/* After MPI_Init, which took so many nanoseconds. */
void tisim_begin(const void* caller, uint64_t in_init);
/* Before MPI_Finalize; before MPI_Abort. */
void tisim_finish(const char* function, const void* caller);
void tisim_give_up(void);
void tisim_pause(bool pause, const void* caller);
/* Counts the function of the wrapper as one that a trace cannot express. */
void tisim_unsupported(void);
bool tisim_keeps_failed_tests(void);
/* The program has asked whether something has happened; `key` says what. What it did since it asked
 * before may be polling, which is not computation. Called before the answer is written. */
void tisim_asked(uint64_t key, bool answer);

struct tisim_named tisim_on(int64_t comm);
/* Writes the computation before this call, then the call. Actions that later calls depend on (the
 * making of communicators and persistent requests) are written during a pause too: `always`. */
int64_t tisim_write(enum tisim_word word, const int64_t* arguments, size_t count,
                    const struct tisim_named* named, bool always);
/* The receive with this ticket has matched a message of this source; nothing for ticket -1. */
void tisim_write_matched(int64_t ticket, int64_t source);
/* Room for so many numbers, until the next call of this function. */
int64_t* tisim_numbers(size_t count);

/* Adds to the computation before the next call, on the thread that called MPI_Init or another. */
void tisim_add_volume(uint64_t volume);
/* Before a parallel region. False where its threads are not counted. */
bool tisim_begin_region(const void* caller);

#endif
