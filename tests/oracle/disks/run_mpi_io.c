/* MPI-IO calls in SMPI: each rank executes its lines of a script and prints when it ends.
 *
 *   run_mpi_io SCRIPT      "rank call bytes offset", one per line
 *
 * Calls are MPI-IO functions in lower case without `MPI_File_`; `compute` has flops as bytes. */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  int rank, line_rank;
  char call[32];
  double bytes;
  long long offset;
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* const data = malloc(64 << 20);
  FILE* const script = fopen(argv[1], "r");
  if (script == NULL || data == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_File_open(MPI_COMM_WORLD, "/scratch/f", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                &file);
  while (fscanf(script, "%d %31s %lf %lld", &line_rank, call, &bytes, &offset) == 4) {
    const int count = (int)bytes;
    MPI_Status status;
    if (line_rank != rank) continue;
    if (strcmp(call, "compute") == 0) smpi_execute_flops(bytes);
    if (strcmp(call, "write_at") == 0)
      MPI_File_write_at(file, offset, data, count, MPI_BYTE, &status);
    if (strcmp(call, "read_at") == 0)
      MPI_File_read_at(file, offset, data, count, MPI_BYTE, &status);
    if (strcmp(call, "write") == 0) MPI_File_write(file, data, count, MPI_BYTE, &status);
    if (strcmp(call, "read") == 0) MPI_File_read(file, data, count, MPI_BYTE, &status);
    if (strcmp(call, "write_at_all") == 0)
      MPI_File_write_at_all(file, offset, data, count, MPI_BYTE, &status);
    if (strcmp(call, "read_at_all") == 0)
      MPI_File_read_at_all(file, offset, data, count, MPI_BYTE, &status);
  }
  printf("%d %.17g\n", rank, MPI_Wtime());
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
