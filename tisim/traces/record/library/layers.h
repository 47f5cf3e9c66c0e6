/* Libraries above MPI-IO and POSIX, such as HDF5 and netCDF: each written call names the function
 * of theirs that makes it. */
#ifndef TISIM_LAYERS_H
#define TISIM_LAYERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "writer.h"

/* Writes the name of the object of a function, from its first two arguments. */
typedef bool (*tisim_name_finder)(intptr_t first, intptr_t second, char* name, size_t size);
bool tisim_name_in_hdf5(intptr_t object, intptr_t unused, char* name, size_t size);
bool tisim_name_in_netcdf(intptr_t file, intptr_t variable, char* name, size_t size);
bool tisim_name_in_pnetcdf(intptr_t file, intptr_t variable, char* name, size_t size);

/* Bracket a library function. `find_name` may be NULL. If the first returns false, the second is
 * not called. */
bool tisim_begin_layer(const char* function, tisim_name_finder find_name, intptr_t first,
                       intptr_t second);
void tisim_end_layer(void);
/* Returns the writer's number of the functions that the program is in; -1 if none. */
int64_t tisim_layer(tisim_writer* writer);

/* The functions have at most ten arguments, all integers or addresses: on x86-64 and AArch64 they
 * can be forwarded without knowing their types. */
#define TISIM_PARAMETERS                                                                          \
  intptr_t a, intptr_t b, intptr_t c, intptr_t d, intptr_t e, intptr_t f, intptr_t g, intptr_t h, \
      intptr_t i, intptr_t j
typedef intptr_t (*tisim_forwarded)(TISIM_PARAMETERS);
/* Returns the function that the recorder hides. Ends the program if there is none. */
tisim_forwarded tisim_find_layer(const char* function, tisim_forwarded own);

#define TISIM_LAYER(name, find_name)                                      \
  EXPORTED intptr_t tisim_layer_##name(TISIM_PARAMETERS) __asm__(#name);  \
  intptr_t tisim_layer_##name(TISIM_PARAMETERS) {                         \
    static tisim_forwarded real;                                          \
    if (real == NULL) real = tisim_find_layer(#name, tisim_layer_##name); \
    const bool is_named = tisim_begin_layer(#name, find_name, a, b);      \
    const intptr_t result = real(a, b, c, d, e, f, g, h, i, j);           \
    if (is_named) tisim_end_layer();                                      \
    return result;                                                        \
  }

#endif
