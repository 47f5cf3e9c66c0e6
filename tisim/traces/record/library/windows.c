/* One-sided communication: the numbers of windows in the trace, their epochs and accesses. */
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"
#include "record.h"

struct window {
  MPI_Win window;
  int64_t number;
  int64_t comm; /* its number */
  bool is_self; /* on a communicator of this rank alone, which the trace does not know */
  MPI_Group group;
  struct window* next;
};

static struct window* windows;

static struct tisim_numbers_in_use numbers;

static struct window* find(MPI_Win window) {
  struct window* found = windows;
  while (found != NULL && found->window != window) found = found->next;
  return found;
}

static struct window* known(MPI_Win window) {
  struct window* const entry = find(window);
  if (entry == NULL) tisim_unsupported();
  return entry;
}

int64_t tisim_number_of_window(MPI_Win window) {
  const struct window* const entry = find(window);
  return entry == NULL ? -1 : entry->number;
}

/* Returns the window if calls on it are written. */
static const struct window* written(MPI_Win window) {
  const struct window* const entry = known(window);
  return entry == NULL || entry->is_self || !tisim_is_active() ? NULL : entry;
}

static void write_call(enum tisim_word word, const struct window* on, const int64_t* numbers,
                       size_t count, const char* text) {
  struct tisim_named named = tisim_on(on->comm);
  named.text = text;
  tisim_write(word, numbers, count, &named, false);
}

void tisim_after_window(enum tisim_word word, MPI_Aint size, MPI_Comm comm, MPI_Win window) {
  const struct tisim_comm* const on = tisim_comm_of(comm);
  struct window* const made = on == NULL ? NULL : calloc(1, sizeof *made);
  if (made == NULL) return;
  *made =
      (struct window){.window = window, .number = tisim_take_number(&numbers), .comm = on->number};
  made->is_self = on->is_self;
  PMPI_Win_get_group(window, &made->group);
  made->next = windows;
  windows = made;
  const int64_t numbers[] = {made->number, size};
  const struct tisim_named named = tisim_on(made->comm);
  const size_t count = word == TISIM_win_create_dynamic ? 1 : 2;
  if (!made->is_self) tisim_write(word, numbers, count, &named, true);
}

void tisim_before_win_free(MPI_Win window) {
  struct window* const freed = known(window);
  if (freed == NULL) return;
  const struct tisim_named named = tisim_on(freed->comm);
  if (!freed->is_self) tisim_write(TISIM_win_free, &freed->number, 1, &named, true);
  struct window** link = &windows;
  while (*link != freed) link = &(*link)->next;
  *link = freed->next;
  tisim_release_number(&numbers, freed->number);
  PMPI_Group_free(&freed->group);
  free(freed);
}

void tisim_after_win_fence(int assertion, MPI_Win window) {
  const struct window* const on = written(window);
  if (on == NULL) return;
  char text[32] = "";
  if ((assertion & MPI_MODE_NOPRECEDE) != 0) strcat(text, "noprecede ");
  if ((assertion & MPI_MODE_NOSUCCEED) != 0) strcat(text, "nosucceed");
  const size_t length = strlen(text);
  if (length > 0 && text[length - 1] == ' ') text[length - 1] = '\0';
  write_call(TISIM_win_fence, on, &on->number, 1, text[0] == '\0' ? NULL : text);
}

void tisim_after_win_group(enum tisim_word word, MPI_Group group, MPI_Win window) {
  const struct window* const on = written(window);
  if (on == NULL) return;
  int size = 0;
  PMPI_Group_size(group, &size);
  int64_t* const numbers = tisim_numbers((size_t)size + 1);
  numbers[0] = on->number;
  for (int i = 0; i < size; ++i) {
    int rank = MPI_UNDEFINED;
    PMPI_Group_translate_ranks(group, 1, &i, on->group, &rank);
    numbers[i + 1] = rank;
  }
  write_call(word, on, numbers, (size_t)size + 1, NULL);
}

void tisim_after_win_call(enum tisim_word word, MPI_Win window) {
  const struct window* const on = written(window);
  if (on != NULL) write_call(word, on, &on->number, 1, NULL);
}

void tisim_after_win_test(bool done, MPI_Win window) {
  const struct window* const on = written(window);
  if (on == NULL) return;
  tisim_record_test(tisim_key(TISIM_win_wait, (const uint64_t[]){(uint64_t)on->number}, 1), done);
  if (done) write_call(TISIM_win_wait, on, &on->number, 1, NULL);
}

void tisim_after_win_target(enum tisim_word word, int target, MPI_Win window) {
  const struct window* const on = written(window);
  if (on == NULL) return;
  const int64_t numbers[] = {on->number, target};
  write_call(word, on, numbers, 2, NULL);
}

void tisim_after_win_lock(int type, int target, MPI_Win window) {
  const struct window* const on = written(window);
  if (on == NULL) return;
  const int64_t numbers[] = {on->number, target};
  const char* const text = type == MPI_LOCK_EXCLUSIVE ? "exclusive" : "shared";
  write_call(TISIM_win_lock, on, numbers, 2, text);
}

/* An accumulate with MPI_NO_OP only fetches. */
static enum tisim_word word_of(enum tisim_word word, MPI_Op op) {
  if (op != MPI_NO_OP) return word;
  return word == TISIM_rget_accumulate ? TISIM_rget : TISIM_get;
}

/* `request`: number of the request that the call creates; -1 if none. */
static void write_access(enum tisim_word word, int target, MPI_Count count, MPI_Datatype type,
                         MPI_Op op, const struct window* on, int64_t request) {
  const int64_t numbers[] = {on->number, target == MPI_PROC_NULL ? TISIM_NULL_RANK : target,
                             tisim_bytes(count, type)};
  struct tisim_named named = tisim_on(on->comm);
  named.request = request;
  tisim_write(word_of(word, op), numbers, 3, &named, false);
}

void tisim_after_access(enum tisim_word word, int target, MPI_Count count, MPI_Datatype type,
                        MPI_Op op, MPI_Win window) {
  const struct window* const on = written(window);
  if (on != NULL) write_access(word, target, count, type, op, on, -1);
}

void tisim_after_access_post(enum tisim_word word, int target, MPI_Count count, MPI_Datatype type,
                             MPI_Op op, MPI_Win window, MPI_Request request, const void* variable) {
  const struct window* const on = written(window);
  if (on == NULL) return;
  const int64_t number = tisim_request_add(request, variable)->number;
  write_access(word, target, count, type, op, on, number);
}
