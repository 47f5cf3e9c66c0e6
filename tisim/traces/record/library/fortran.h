/* Conversions of Fortran's arguments to C. */
#ifndef TISIM_FORTRAN_H
#define TISIM_FORTRAN_H

#include "record.h"

_Static_assert(sizeof(MPI_Fint) == sizeof(int), "integers of Fortran and C differ in size");

/* The subroutine that an entry hides: `function` points to a pointer to a function. */
void tisim_find_hidden(void* function, const char* name);
/* MPI_IN_PLACE and MPI_BOTTOM of C for those of Fortran; the address of any other buffer or
 * descriptor. */
const void* tisim_fortran_buffer(const void* buffer, bool is_descriptor);
const MPI_Request* tisim_fortran_requests(const MPI_Fint* requests, int count);
/* One type for each rank of the communicator. Two arrays, 0 and 1, are in use at a time. */
const MPI_Datatype* tisim_fortran_types(const MPI_Fint* types, MPI_Comm comm, int array);
/* As tisim_statuses, for an array of Fortran. */
MPI_Fint* tisim_fortran_statuses(MPI_Fint* statuses, int count, bool needed);
/* NULL unless they are needed. */
const MPI_Status* tisim_statuses_from_fortran(const MPI_Fint* statuses, int count, bool needed);
/* MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY of C for those of Fortran; any other array as it is. */
const void* tisim_fortran_numbers(const MPI_Fint* numbers);
/* As many types as are counted. */
const MPI_Datatype* tisim_fortran_type_list(const MPI_Fint* types, int count);
/* A text without the blanks at its end. So many, 0 to 3, are in use at a time. */
const char* tisim_fortran_text(const char* text, size_t length, int place);
/* The statuses that a subroutine has been given instead of the program's, in C. */
const MPI_Status* tisim_fortran_described(const MPI_Fint* passed, const MPI_Fint* own, int count);

#endif
