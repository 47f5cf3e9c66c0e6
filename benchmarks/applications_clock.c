/* A library to be preloaded (LD_PRELOAD) into the ranks of a program that is not recorded. Each
   rank adds a line to the file $TISIM_CLOCK: when MPI_Init returned and when MPI_Finalize was
   called, in seconds of the host's clock, and the processor time of the process in between. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double began, used;

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void begin(void) {
  used = seconds(CLOCK_PROCESS_CPUTIME_ID);
  began = seconds(CLOCK_MONOTONIC);
}

static void end(void) {
  const double ended = seconds(CLOCK_MONOTONIC);
  const double spent = seconds(CLOCK_PROCESS_CPUTIME_ID) - used;
  FILE* file = fopen(getenv("TISIM_CLOCK"), "a");
  if (file != NULL) {
    fprintf(file, "%.9f %.9f %.9f\n", began, ended, spent);
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

/* Open MPI's functions for Fortran do not call those for C. */
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
