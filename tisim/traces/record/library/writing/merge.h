/* One trace of the parts of all ranks, made by the ranks when the program ends. */
#ifndef TISIM_MERGE_H
#define TISIM_MERGE_H

/* After MPI_Init, on all ranks: makes the communicator over which parts are sent. */
void tisim_prepare_merge(void);
/* Before MPI_Finalize, on all ranks. `part` is the file of this rank's part; NULL: it has none. The
 * trace appears as `output`, and the files are removed; if that fails they stay. The trace of a
 * program with calls that it cannot express begins with lines that name them. */
void tisim_merge(const char *part, const char *output);

#endif
