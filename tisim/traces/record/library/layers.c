/* Libraries above MPI-IO and POSIX: tracks which of their functions the program is in. */
#include "layers.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

#define MOST_NESTED 8 /* named functions nested in each other */
#define LONGEST_PATH 1024
#define LONGEST_NAME 512

/* The functions, outermost first: "nc_put_vara_double temperature > H5Dwrite /temperature". */
static char path[LONGEST_PATH];
static size_t lengths[MOST_NESTED]; /* of the path before each of them */
static int depth;
static int64_t number = -1; /* of the path in the writer; -1: not yet known */

bool tisim_begin_layer(const char* function, tisim_name_finder find_name, intptr_t first,
                       intptr_t second) {
  if (!tisim_is_recorded_thread() || !tisim_is_active() || depth == MOST_NESTED) return false;
  char name[LONGEST_NAME] = "";
  if (find_name != NULL && !find_name(first, second, name, sizeof name)) name[0] = '\0';
  const size_t length = depth == 0 ? 0 : strlen(path);
  lengths[depth++] = length;
  snprintf(path + length, sizeof path - length, "%s%s%s%s", length == 0 ? "" : " > ", function,
           name[0] == '\0' ? "" : " ", name);
  for (char* c = path + length; *c != '\0'; ++c) {
    if ((unsigned char)*c < 32 || *c == 127) *c = '_';
  }
  number = -1;
  return true;
}

void tisim_end_layer(void) {
  path[lengths[--depth]] = '\0';
  number = -1;
}

int64_t tisim_layer(tisim_writer* writer) {
  if (depth == 0) return -1;
  if (number < 0) number = tisim_writer_text(writer, path);
  return number;
}

/* A library loaded by a Python module is not next in the search order, but is among the loaded. */
struct search {
  const char* function;
  void* own;
  void* found;
};

static int look_into(struct dl_phdr_info* info, size_t size, void* argument) {
  struct search* const search = argument;
  (void)size;
  if (info->dlpi_name == NULL || info->dlpi_name[0] == '\0') return 0;
  void* const library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (library == NULL) return 0;
  void* const symbol = dlsym(library, search->function);
  dlclose(library);
  if (symbol == NULL || symbol == search->own) return 0;
  search->found = symbol;
  return 1;
}

static void* find_in_libraries(const char* function, void* own) {
  void* const next = dlsym(RTLD_NEXT, function);
  if (next != NULL) return next;
  struct search search = {function, own, NULL};
  dl_iterate_phdr(look_into, &search);
  return search.found;
}

tisim_forwarded tisim_find_layer(const char* function, tisim_forwarded own) {
  tisim_forwarded found;
  void* address;
  memcpy(&address, &own, sizeof address);
  address = find_in_libraries(function, address);
  if (address == NULL) {
    fprintf(stderr, "tisim record: the program calls %s, which no library defines\n", function);
    abort();
  }
  memcpy(&found, &address, sizeof found);
  return found;
}

/* Names of the data that a function reads or writes. */

bool tisim_name_in_hdf5(intptr_t object, intptr_t unused, char* name, size_t size) {
  static intptr_t (*get_name)(int64_t, char*, size_t);
  (void)unused;
  if (get_name == NULL) {
    void* const symbol = find_in_libraries("H5Iget_name", NULL);
    if (symbol == NULL) return false;
    memcpy(&get_name, &symbol, sizeof get_name);
  }
  return get_name(object, name, size) > 0;
}

typedef int (*variable_name)(int, int, char*);

static bool name_of_variable(variable_name* get_name, const char* function, intptr_t file,
                             intptr_t variable, char* name) {
  if (*get_name == NULL) {
    void* const symbol = find_in_libraries(function, NULL);
    if (symbol == NULL) return false;
    memcpy(get_name, &symbol, sizeof *get_name);
  }
  return (*get_name)((int)file, (int)variable, name) == 0;
}

bool tisim_name_in_netcdf(intptr_t file, intptr_t variable, char* name, size_t size) {
  static variable_name get_name;
  (void)size; /* names have at most 256 bytes */
  return name_of_variable(&get_name, "nc_inq_varname", file, variable, name);
}

bool tisim_name_in_pnetcdf(intptr_t file, intptr_t variable, char* name, size_t size) {
  static variable_name get_name;
  (void)size;
  return name_of_variable(&get_name, "ncmpi_inq_varname", file, variable, name);
}
