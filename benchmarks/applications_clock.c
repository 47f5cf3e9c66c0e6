/* A library to preload (LD_PRELOAD) into the ranks of an unrecorded program. Each rank adds a line
   to the file $TISIM_CLOCK: when MPI_Init returned and when MPI_Finalize was called, in seconds of
   the host's clock, the processor time of the process in between, and the maximum growth of its
   memory in bytes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double began, used;
static long memory;

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static long bytes_of_status(const char* name) {
  FILE* const file = fopen("/proc/self/status", "r");
  long found = 0;
  for (char line[256]; file != NULL && found == 0 && fgets(line, sizeof line, file) != NULL;) {
    if (strncmp(line, name, strlen(name)) == 0) found = atol(line + strlen(name)) << 10;
  }
  if (file != NULL) fclose(file);
  return found;
}

static void begin(void) {
  /* Resets the peak to the current memory. */
  FILE* const file = fopen("/proc/self/clear_refs", "w");
  if (file != NULL) {
    fputs("5", file);
    fclose(file);
  }
  memory = bytes_of_status("VmRSS:");
  used = seconds(CLOCK_PROCESS_CPUTIME_ID);
  began = seconds(CLOCK_MONOTONIC);
}

static void end(void) {
  const double ended = seconds(CLOCK_MONOTONIC);
  const double spent = seconds(CLOCK_PROCESS_CPUTIME_ID) - used;
  const long grown = bytes_of_status("VmHWM:") - memory;
  FILE* file = fopen(getenv("TISIM_CLOCK"), "a");
  if (file != NULL) {
    fprintf(file, "%.9f %.9f %.9f %ld\n", began, ended, spent, grown);
    fclose(file);
  }
}

int MPI_Init(int* argc, char*** argv) {
  const int status = PMPI_Init(argc, argv);
  begin();
  return status;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int status = PMPI_Init_thread(argc, argv, required, provided);
  begin();
  return status;
}

int MPI_Finalize(void) {
  end();
  return PMPI_Finalize();
}

/* Open MPI's Fortran functions do not call the C functions. */
void pmpi_init_(int* status);
void pmpi_init_thread_(int* required, int* provided, int* status);
void pmpi_finalize_(int* status);

void mpi_init_(int* status) {
  pmpi_init_(status);
  begin();
}

void mpi_init_thread_(int* required, int* provided, int* status) {
  pmpi_init_thread_(required, provided, status);
  begin();
}

void mpi_finalize_(int* status) {
  end();
  pmpi_finalize_(status);
}
