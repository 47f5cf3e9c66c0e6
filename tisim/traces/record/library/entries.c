/* The entries that are not in the table: start, end, and the program's requests to tisim. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "counting.h"
#include "fortran.h"
#include "timeline.h"

EXPORTED void tisim_record(int active);
EXPORTED void tisim_record_(const MPI_Fint* active);

/* `required`: the level of thread support requested by the program; NULL if none. */
static void start(const char* function, const int* required, int threads, uint64_t before_init,
                  const void* caller) {
  const uint64_t in_init = tisim_now() - before_init;
  if (!tisim_prepare(threads)) return;
  tisim_begin_overheads(tisim_adds_init() ? 0 : in_init);
  const struct tisim_named none = tisim_on(0);
  const void* const values[] = {required, &threads};
  tisim_describe(function, required == NULL ? "" : "irequired,iprovided,", values);
  tisim_write(TISIM_init, NULL, 0, &none, true);
  tisim_begin_communicators();
  tisim_begin(caller, in_init);
}

static int provided_threads(void) {
  int provided = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&provided);
  return provided;
}

EXPORTED int MPI_Init(int* argc, char*** argv) {
  const uint64_t before = tisim_now();
  const int error = PMPI_Init(argc, argv);
  if (error == MPI_SUCCESS) start("MPI_Init", NULL, provided_threads(), before, TISIM_CALLER);
  return error;
}

EXPORTED int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const uint64_t before = tisim_now();
  const int error = PMPI_Init_thread(argc, argv, required, provided);
  if (error == MPI_SUCCESS) start("MPI_Init_thread", &required, *provided, before, TISIM_CALLER);
  return error;
}

EXPORTED int MPI_Finalize(void) {
  tisim_finish("MPI_Finalize", TISIM_CALLER);
  return PMPI_Finalize();
}

#if HAS_MPI_4
/* For a program that uses only sessions, the first session initialises a world, in which its ranks
 * are numbered; the recording ends with the last session. */
static int sessions;
static bool is_own_world;

EXPORTED int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  int is_initialised = 0;
  PMPI_Initialized(&is_initialised);
  if (!is_initialised) {
    const uint64_t before = tisim_now();
    int provided = MPI_THREAD_SINGLE;
    is_own_world = PMPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS;
    if (is_own_world) start("MPI_Session_init", NULL, provided, before, TISIM_CALLER);
  }
  ++sessions;
  return PMPI_Session_init(info, errhandler, session);
}

EXPORTED int MPI_Session_finalize(MPI_Session* session) {
  const bool is_last = --sessions == 0 && is_own_world;
  if (is_last) tisim_finish("MPI_Session_finalize", TISIM_CALLER);
  const int error = PMPI_Session_finalize(session);
  if (is_last) PMPI_Finalize();
  return error;
}
#endif

EXPORTED int MPI_Abort(MPI_Comm comm, int errorcode) {
  tisim_abort_recording();
  return PMPI_Abort(comm, errorcode);
}

/* Level 0 pauses the recording, any other level resumes it. */
EXPORTED int MPI_Pcontrol(const int level, ...) {
  tisim_pause(level == 0, TISIM_CALLER);
  return MPI_SUCCESS;
}

typedef void (*without_arguments)(MPI_Fint*);
typedef void (*with_threads)(const MPI_Fint*, MPI_Fint*, MPI_Fint*);

static void init(const char* name, const void* caller, MPI_Fint* ierror) {
  without_arguments perform;
  tisim_find_hidden(&perform, name);
  const uint64_t before = tisim_now();
  perform(ierror);
  start("MPI_Init", NULL, provided_threads(), before, caller);
}

EXPORTED void mpi_init_(MPI_Fint* ierror) { init("mpi_init_", TISIM_CALLER, ierror); }
EXPORTED void mpi_init_f08_(MPI_Fint* ierror) { init("mpi_init_f08_", TISIM_CALLER, ierror); }

static void init_thread(const char* name, const void* caller, const MPI_Fint* required,
                        MPI_Fint* provided, MPI_Fint* ierror) {
  with_threads perform;
  tisim_find_hidden(&perform, name);
  const uint64_t before = tisim_now();
  perform(required, provided, ierror);
  start("MPI_Init_thread", required, provided_threads(), before, caller);
}

EXPORTED void mpi_init_thread_(const MPI_Fint* required, MPI_Fint* provided, MPI_Fint* ierror) {
  init_thread("mpi_init_thread_", TISIM_CALLER, required, provided, ierror);
}
EXPORTED void mpi_init_thread_f08_(const MPI_Fint* required, MPI_Fint* provided, MPI_Fint* ierror) {
  init_thread("mpi_init_thread_f08_", TISIM_CALLER, required, provided, ierror);
}

static void finalize(const char* name, const void* caller, MPI_Fint* ierror) {
  without_arguments perform;
  tisim_find_hidden(&perform, name);
  tisim_finish("MPI_Finalize", caller);
  perform(ierror);
}

EXPORTED void mpi_finalize_(MPI_Fint* ierror) { finalize("mpi_finalize_", TISIM_CALLER, ierror); }
EXPORTED void mpi_finalize_f08_(MPI_Fint* ierror) {
  finalize("mpi_finalize_f08_", TISIM_CALLER, ierror);
}

EXPORTED void mpi_abort_(const MPI_Fint* comm, const MPI_Fint* code, MPI_Fint* ierror) {
  const int error = MPI_Abort(PMPI_Comm_f2c(*comm), *code);
  if (ierror != NULL) *ierror = error;
}

EXPORTED void mpi_abort_f08_(const MPI_Fint* comm, const MPI_Fint* code, MPI_Fint* ierror) {
  mpi_abort_(comm, code, ierror);
}

EXPORTED void mpi_pcontrol_(const MPI_Fint* level) { tisim_pause(*level == 0, TISIM_CALLER); }
EXPORTED void mpi_pcontrol_f08_(const MPI_Fint* level) { tisim_pause(*level == 0, TISIM_CALLER); }

/* A program may call these through weak symbols. */
EXPORTED void tisim_record(int active) { tisim_pause(active == 0, TISIM_CALLER); }
EXPORTED void tisim_record_(const MPI_Fint* active) { tisim_pause(*active == 0, TISIM_CALLER); }
