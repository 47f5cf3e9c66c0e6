/* Conversion of Fortran arguments to C. */
#include "fortran.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"

#define INTEGERS_PER_STATUS (sizeof(MPI_Status) / sizeof(MPI_Fint))

void tisim_find_hidden(void* function, const char* name) {
  void* const symbol = dlsym(RTLD_NEXT, name);
  if (symbol == NULL) {
    fprintf(stderr, "tisim record: no MPI library of this program defines %s\n", name);
    abort();
  }
  memcpy(function, &symbol, sizeof symbol);
}

/* A Fortran constant is a variable of which only the address is significant. MPICH stores the
 * address in a pointer. */
static bool is_constant(const void* address, const char* const* names, const char* pointer) {
  for (; *names != NULL; ++names) {
    const void* const variable = dlsym(RTLD_DEFAULT, *names);
    if (variable != NULL && variable == address) return true;
  }
  void* const* const kept = dlsym(RTLD_DEFAULT, pointer);
  return kept != NULL && *kept == address;
}

const void* tisim_fortran_buffer(const void* buffer, bool is_descriptor) {
  static const char* const names[] = {"mpi_fortran_in_place_", "mpi_fortran_in_place",
                                      "MPIR_F08_MPI_IN_PLACE", NULL};
  static const char* const bottom[] = {"mpi_fortran_bottom_", "mpi_fortran_bottom",
                                       "MPIR_F08_MPI_BOTTOM", NULL};
  if (is_descriptor) buffer = *(const void* const*)buffer;
  static const void* last_ordinary; /* avoids slow lookups: most programs pass few buffers */
  if (buffer == last_ordinary) return buffer;
  if (is_constant(buffer, names, "MPIR_F_MPI_IN_PLACE")) return MPI_IN_PLACE;
  if (is_constant(buffer, bottom, "MPIR_F_MPI_BOTTOM")) return MPI_BOTTOM;
  last_ordinary = buffer;
  return buffer;
}

static bool is_ignored(const MPI_Fint* statuses) {
  static const char* const single[] = {"mpi_fortran_status_ignore_", "mpi_fortran_status_ignore",
                                       "MPIR_F08_MPI_STATUS_IGNORE_OBJ", NULL};
  static const char* const many[] = {"mpi_fortran_statuses_ignore_", "mpi_fortran_statuses_ignore",
                                     "MPIR_F08_MPI_STATUSES_IGNORE_OBJ", NULL};
  return statuses == MPI_F_STATUS_IGNORE || statuses == MPI_F_STATUSES_IGNORE ||
         is_constant(statuses, single, "MPI_F_STATUS_IGNORE") ||
         is_constant(statuses, many, "MPI_F_STATUSES_IGNORE");
}

const MPI_Request* tisim_fortran_requests(const MPI_Fint* requests, int count) {
  static struct tisim_buffer scratch;
  const size_t size = (size_t)(count > 0 ? count : 0) + 1;
  MPI_Request* const values = tisim_buffer(&scratch, size * sizeof *values);
  for (int i = 0; i < count; ++i) values[i] = PMPI_Request_f2c(requests[i]);
  return values;
}

const MPI_Datatype* tisim_fortran_types(const MPI_Fint* types, MPI_Comm comm, int array) {
  static struct tisim_buffer scratch[2];
  int size = 0;
  int is_inter = 0;
  PMPI_Comm_test_inter(comm, &is_inter);
  if (is_inter) PMPI_Comm_remote_size(comm, &size);
  if (!is_inter) PMPI_Comm_size(comm, &size);
  MPI_Datatype* const values = tisim_buffer(&scratch[array], ((size_t)size + 1) * sizeof *values);
  for (int i = 0; i < size; ++i) values[i] = PMPI_Type_f2c(types[i]);
  return values;
}

MPI_Fint* tisim_fortran_statuses(MPI_Fint* statuses, int count, bool needed) {
  static struct tisim_buffer scratch;
  if (!needed || count <= 0 || !is_ignored(statuses)) return statuses;
  return tisim_buffer(&scratch, (size_t)count * sizeof(MPI_Status));
}

const MPI_Status* tisim_statuses_from_fortran(const MPI_Fint* statuses, int count, bool needed) {
  static struct tisim_buffer scratch;
  if (!needed || count <= 0) return NULL;
  MPI_Status* const values = tisim_buffer(&scratch, (size_t)count * sizeof *values);
  for (int i = 0; i < count; ++i) {
    PMPI_Status_f2c(statuses + (size_t)i * INTEGERS_PER_STATUS, &values[i]);
  }
  return values;
}

const void* tisim_fortran_numbers(const MPI_Fint* numbers) {
  static const char* const unweighted[] = {"mpi_fortran_unweighted_", "mpi_fortran_unweighted",
                                           "__mpi_f08_link_constants_MOD_mpi_unweighted", NULL};
  static const char* const empty[] = {"mpi_fortran_weights_empty_", "mpi_fortran_weights_empty",
                                      "__mpi_f08_link_constants_MOD_mpi_weights_empty", NULL};
  if (is_constant(numbers, unweighted, "MPIR_F_MPI_UNWEIGHTED")) return MPI_UNWEIGHTED;
  if (is_constant(numbers, empty, "MPIR_F_MPI_WEIGHTS_EMPTY")) return MPI_WEIGHTS_EMPTY;
  return numbers;
}

const MPI_Status* tisim_fortran_described(const MPI_Fint* passed, const MPI_Fint* own, int count) {
  static struct tisim_buffer scratch;
  if (is_ignored(own) || count <= 0) return MPI_STATUSES_IGNORE;
  MPI_Status* const values = tisim_buffer(&scratch, (size_t)count * sizeof *values);
  for (int i = 0; i < count; ++i) {
    PMPI_Status_f2c(passed + (size_t)i * INTEGERS_PER_STATUS, &values[i]);
  }
  return values;
}

const MPI_Datatype* tisim_fortran_type_list(const MPI_Fint* types, int count) {
  static struct tisim_buffer scratch;
  const size_t size = (size_t)(count > 0 ? count : 0) + 1;
  MPI_Datatype* const values = tisim_buffer(&scratch, size * sizeof *values);
  for (int i = 0; i < count; ++i) values[i] = PMPI_Type_f2c(types[i]);
  return values;
}

const char* tisim_fortran_text(const char* text, size_t length, int place) {
  static struct tisim_buffer scratch[4];
  while (length != 0 && text[length - 1] == ' ') --length;
  char* const copy = tisim_buffer(&scratch[place], length + 1);
  memcpy(copy, text, length);
  copy[length] = '\0';
  return copy;
}
