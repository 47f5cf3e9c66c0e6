#include "completion.h"

#include <stdlib.h>

#include "execute.h"
#include "persistent.h"
#include "requests.h"

/* Of the requests that a call is about: their indices, and what MPI wants and gives. */
static int *indices, *found;
static MPI_Request *copies;
static MPI_Request *handles; /* the copies, or in place */
static int count, capacity;

static void take(int index) {
  if (count == capacity) {
    capacity = capacity == 0 ? 64 : 2 * capacity;
    indices = realloc(indices, (size_t)capacity * sizeof *indices);
    found = realloc(found, (size_t)capacity * sizeof *found);
    copies = realloc(copies, (size_t)capacity * sizeof *copies);
    if (indices == NULL || found == NULL || copies == NULL)
      fail("no memory for %d requests", capacity);
  }
  indices[count++] = index;
}

static void take_pending(void) {
  count = 0;
  for (int index = first_request(); index >= 0; index = request_at(index)->next) take(index);
}

/* Numbers of requests that were complete before name none. */
static void take_listed(const struct instruction *instruction) {
  if (!(instruction->flags & FLAG_NUMBERED)) {
    take_pending();
    return;
  }
  count = 0;
  for (int64_t i = 0; i < instruction->count; i++) {
    const int index = numbered_request(instruction->numbers[i]);
    if (index >= 0) take(index);
  }
}

/* Handles are given to MPI where they are, if they are neighbours. */
static void take_handles(void) {
  bool are_neighbours = true;
  for (int i = 1; i < count; i++) are_neighbours &= indices[i] == indices[i - 1] + 1;
  if (count > 0 && are_neighbours) {
    handles = handle_of(indices[0]);
    return;
  }
  handles = copies;
  for (int i = 0; i < count; i++) copies[i] = *handle_of(indices[i]);
}

static void finish_taken(void) {
  for (int i = 0; i < count; i++) finish_request(indices[i]);
}

void complete_one(const struct instruction *instruction) {
  const int index = named_request(instruction);
  if (index < 0) return;
  const bool waits = instruction->kind == KIND_WAIT || instruction->kind == KIND_WAIT_LAST ||
                     instruction->kind == KIND_WAIT_ICOLLECTIVE;
  int is_complete = 1;
  if (!program.rehearsing) {
    if (waits)
      MPI_Wait(handle_of(index), MPI_STATUS_IGNORE);
    else
      MPI_Test(handle_of(index), &is_complete, MPI_STATUS_IGNORE);
  }
  if (is_complete) finish_request(index);
}

/* While a script is rehearsed, a call that completes some requests completes the first one. */
static int complete_some(int kind) {
  int number = count > 0 ? 1 : 0, is_complete = 0;
  found[0] = 0;
  if (program.rehearsing) return number;
  switch (kind) {
    case KIND_WAITANY:
      MPI_Waitany(count, handles, found, MPI_STATUS_IGNORE);
      return found[0] == MPI_UNDEFINED ? 0 : 1;
    case KIND_TESTANY:
      MPI_Testany(count, handles, found, &is_complete, MPI_STATUS_IGNORE);
      return is_complete && found[0] != MPI_UNDEFINED ? 1 : 0;
    case KIND_WAITSOME:
      MPI_Waitsome(count, handles, &number, found, MPI_STATUSES_IGNORE);
      break;
    default:
      MPI_Testsome(count, handles, &number, found, MPI_STATUSES_IGNORE);
      break;
  }
  return number == MPI_UNDEFINED ? 0 : number;
}

void complete_several(const struct instruction *instruction) {
  const int kind = instruction->kind;
  take_listed(instruction);
  if (capacity == 0) return; /* there never was a request */
  take_handles();
  if (kind == KIND_WAITALL || kind == KIND_TESTALL) {
    int are_complete = 1;
    if (!program.rehearsing) {
      if (kind == KIND_WAITALL)
        MPI_Waitall(count, handles, MPI_STATUSES_IGNORE);
      else
        MPI_Testall(count, handles, &are_complete, MPI_STATUSES_IGNORE);
    }
    if (are_complete) finish_taken();
    return;
  }
  const int complete = complete_some(kind);
  for (int i = 0; i < complete; i++) finish_request(indices[found[i]]);
}

void cancel_request(const struct instruction *instruction) {
  const int index = named_request(instruction);
  if (index >= 0 && !program.rehearsing) MPI_Cancel(handle_of(index));
}

void free_request(const struct instruction *instruction) {
  const int index = named_request(instruction);
  if (index < 0) {
    free_inactive_persistent(instruction);
    return;
  }
  const int persistent = request_at(index)->persistent;
  if (!program.rehearsing && persistent < 0) MPI_Request_free(handle_of(index));
  leave_request(index);
  if (persistent >= 0) free_one_persistent(persistent);
}

void complete_all(void) {
  take_pending();
  if (count == 0) return;
  take_handles();
  if (!program.rehearsing) PMPI_Waitall(count, handles, MPI_STATUSES_IGNORE);
  finish_taken();
}
