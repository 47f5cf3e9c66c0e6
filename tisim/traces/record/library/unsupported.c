#include "unsupported.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FUNCTIONS 512
#define LONGEST_NAME 64
#define LONGEST_NUMBER 24

static struct function {
  char name[LONGEST_NAME];
  uint64_t calls;
} functions[MOST_FUNCTIONS];
static size_t function_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* several threads may count */

static void count(const char* name, uint64_t calls) {
  for (size_t i = 0; i < function_count; ++i) {
    if (strcmp(functions[i].name, name) == 0) {
      functions[i].calls += calls;
      return;
    }
  }
  if (function_count == MOST_FUNCTIONS) return;
  struct function* const made = &functions[function_count++];
  snprintf(made->name, sizeof made->name, "%s", name);
  made->calls = calls;
}

void tisim_count_unsupported(const char* name, uint64_t calls) {
  pthread_mutex_lock(&lock);
  count(name, calls);
  pthread_mutex_unlock(&lock);
}

static int by_name(const void* a, const void* b) {
  return strcmp(((const struct function*)a)->name, ((const struct function*)b)->name);
}

char* tisim_list_unsupported(const char* prefix) {
  const size_t line = strlen(prefix) + LONGEST_NAME + LONGEST_NUMBER;
  pthread_mutex_lock(&lock);
  char* const text = malloc(function_count * line + 1);
  if (text == NULL) {
    pthread_mutex_unlock(&lock);
    return NULL;
  }
  qsort(functions, function_count, sizeof *functions, by_name);
  char* end = text;
  *end = '\0';
  for (size_t i = 0; i < function_count; ++i) {
    end += sprintf(end, "%s%s %llu\n", prefix, functions[i].name,
                   (unsigned long long)functions[i].calls);
  }
  pthread_mutex_unlock(&lock);
  return text;
}

void tisim_add_unsupported(const char* list) {
  char name[LONGEST_NAME];
  unsigned long long calls = 0;
  int length = 0;
  for (; sscanf(list, "%63s %llu\n%n", name, &calls, &length) == 2; list += length) {
    tisim_count_unsupported(name, calls);
  }
}
