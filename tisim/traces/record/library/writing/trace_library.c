/* Loading libtisim_trace. */
#include "trace_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

struct tisim_trace_library tisim_trace;

static bool find(void *library, const char *name, void *function) {
  void *const found = dlsym(library, name);
  memcpy(function, &found, sizeof found);
  return found != NULL;
}

bool tisim_load_trace_library(const char *path) {
  void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "tisim record: %s; this rank writes text\n", dlerror());
    return false;
  }
  bool has_all = true;
#define FIND(result, name, parameters) \
  has_all = find(library, "tt_" #name, &tisim_trace.name) && has_all;
  TISIM_TRACE_FUNCTIONS(FIND)
#undef FIND
  if (has_all && tisim_trace.interface() == TT_INTERFACE) return true;
  fprintf(stderr, "tisim record: %s is of another version of tisim; this rank writes text\n", path);
  dlclose(library);
  return false;
}
