/* Conversion of Fortran arguments to C. */
#ifndef TISIM_FORTRAN_H
#define TISIM_FORTRAN_H

#include "record.h"

_Static_assert(sizeof(MPI_Fint) == sizeof(int), "integers of Fortran and C differ in size");

/* Finds the subroutine that an entry hides: `function` points to a function pointer. */
void tisim_find_hidden(void* function, const char* name);
/* Returns C's MPI_IN_PLACE and MPI_BOTTOM for Fortran's, and the address of any other buffer or
 * descriptor. */
const void* tisim_fortran_buffer(const void* buffer, bool is_descriptor);
const MPI_Request* tisim_fortran_requests(const MPI_Fint* requests, int count);
/* One type per rank of the communicator. Two arrays, 0 and 1, can be in use at once. */
const MPI_Datatype* tisim_fortran_types(const MPI_Fint* types, MPI_Comm comm, int array);
/* As tisim_statuses, for a Fortran array. */
MPI_Fint* tisim_fortran_statuses(MPI_Fint* statuses, int count, bool needed);
/* NULL unless they are needed. */
const MPI_Status* tisim_statuses_from_fortran(const MPI_Fint* statuses, int count, bool needed);
/* Returns C's MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY for Fortran's; any other array unchanged. */
const void* tisim_fortran_numbers(const MPI_Fint* numbers);
/* Converts `count` types. */
const MPI_Datatype* tisim_fortran_type_list(const MPI_Fint* types, int count);
/* Returns a text without trailing blanks. Four of them, places 0 to 3, can be in use at once. */
const char* tisim_fortran_text(const char* text, size_t length, int place);
/* Converts the statuses passed to a subroutine instead of the program's. */
const MPI_Status* tisim_fortran_described(const MPI_Fint* passed, const MPI_Fint* own, int count);

#endif
