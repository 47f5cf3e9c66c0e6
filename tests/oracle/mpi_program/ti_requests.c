/* Pending requests: waits, tests, and the start of persistent requests.
 *
 * A line names a request by its key, "src dst tag"; a request of a non-blocking collective has one
 * of SimGrid's negative tags and no ranks. Alternatively it names one by its number, `request=`, or
 * several, `requests=`. Other lines refer to all pending requests.
 */
#include <stdlib.h>
#include <string.h>

#include "ti_exec.h"

request_t* add(requests_t* list, request_t request) {
  if (list->n == list->capacity) {
    list->capacity = list->capacity ? 2 * list->capacity : 16;
    list->at = realloc(list->at, list->capacity * sizeof *list->at);
  }
  list->at[list->n] = request;
  return &list->at[list->n++];
}

void remember(rank_t* me, int src, int dst, int tag, MPI_Request request) {
  /* The request with the number is complete, or was tested, and loses the number. */
  for (int i = 0; me->number != NO_NUMBER && i < me->pending.n; i++)
    if (me->pending.at[i].number == me->number) me->pending.at[i].number = NO_NUMBER;
  if (request != MPI_REQUEST_NULL)
    add(&me->pending,
        (request_t){src, dst, tag, me->comm_id, request, .persistent = 0, .number = me->number});
}

/* Handles the completion of a pending request. A persistent one may be started again. */
static void forget(rank_t* me, int i) {
  requests_t* const list = &me->pending;
  for (int p = 0; list->at[i].persistent && p < me->persistent.n; p++)
    if (me->persistent.at[p].request == list->at[i].request) me->persistent.at[p].active = 0;
  list->n--;
  memmove(list->at + i, list->at + i + 1, (list->n - i) * sizeof *list->at);
}

static int fits(const rank_t* me, const line_t* line, const request_t* request) {
  if (me->number != NO_NUMBER) return request->number == me->number;
  const int src = integer(line, 2), dst = integer(line, 3), tag = integer(line, 4);
  if (request->tag != tag || request->comm != me->comm_id) return 0;
  return (tag < 0 && tag != -444) || (request->src == src && request->dst == dst);
}

/* Returns the oldest pending request with the key of a line, or -1. */
static int find(const rank_t* me, const line_t* line) {
  for (int i = 0; i < me->pending.n; i++)
    if (fits(me, line, &me->pending.at[i])) return i;
  return -1;
}

/* The requests that a line refers to, as indices of pending requests. */
typedef struct {
  int n;
  int* place;
  MPI_Request* request;
} chosen_t;

static void choose_place(const rank_t* me, chosen_t* chosen, int place) {
  chosen->place[chosen->n] = place;
  chosen->request[chosen->n++] = me->pending.at[place].request;
}

/* Returns those of `requests=` in its order, or all pending requests. */
static chosen_t choose(const rank_t* me) {
  chosen_t chosen = {0, malloc((me->pending.n + 1) * sizeof(int)),
                     malloc((me->pending.n + 1) * sizeof(MPI_Request))};
  if (!me->list)
    for (int i = 0; i < me->pending.n; i++) choose_place(me, &chosen, i);
  for (const char* rest = me->list; rest && *rest; rest += *rest == ',') {
    const int number = (int)strtol(rest, (char**)&rest, 10);
    for (int i = 0; i < me->pending.n; i++)
      if (me->pending.at[i].number == number) choose_place(me, &chosen, i);
  }
  return chosen;
}

static void free_chosen(chosen_t chosen) {
  free(chosen.place);
  free(chosen.request);
}

static int descending(const void* a, const void* b) { return *(const int*)b - *(const int*)a; }

/* Forgets the requests at these indices. */
static void forget_some(rank_t* me, int n, int* places) {
  if (n == MPI_UNDEFINED) return;
  qsort(places, n, sizeof *places, descending);
  for (int i = 0; i < n; i++) forget(me, places[i]);
}

/* -- Waiting -------------------------------------------------------------------------------- */

static void do_wait(rank_t* me, const line_t* line) {
  const int i = find(me, line);
  if (i >= 0) {
    MPI_Request request = me->pending.at[i].request;
    forget(me, i);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

static void wait_for_chosen(rank_t* me) {
  chosen_t chosen = choose(me);
  forget_some(me, chosen.n, chosen.place);
  MPI_Waitall(chosen.n, chosen.request, MPI_STATUSES_IGNORE);
  free_chosen(chosen);
}

void wait_for_all(rank_t* me) {
  me->list = NULL;
  wait_for_chosen(me);
}

static void do_waitall(rank_t* me, const line_t* line) {
  (void)line;
  wait_for_chosen(me);
}

static void do_waitany(rank_t* me, const line_t* line) {
  (void)line;
  chosen_t chosen = choose(me);
  int index = MPI_UNDEFINED;
  MPI_Waitany(chosen.n, chosen.request, &index, MPI_STATUS_IGNORE);
  if (index != MPI_UNDEFINED) forget(me, chosen.place[index]);
  free_chosen(chosen);
}

typedef int (*some_t)(int, MPI_Request*, int*, int*, MPI_Status*);

static void some(rank_t* me, some_t call) {
  chosen_t chosen = choose(me);
  int count = 0, *places = malloc((chosen.n + 1) * sizeof *places);
  if (chosen.n > 0) call(chosen.n, chosen.request, &count, places, MPI_STATUSES_IGNORE);
  for (int i = 0; count != MPI_UNDEFINED && i < count; i++) places[i] = chosen.place[places[i]];
  forget_some(me, count, places);
  free(places);
  free_chosen(chosen);
}

static void do_waitsome(rank_t* me, const line_t* line) {
  (void)line;
  some(me, MPI_Waitsome);
}

/* -- Testing -------------------------------------------------------------------------------- */

static void do_test(rank_t* me, const line_t* line) {
  const int i = find(me, line);
  int flag = 0;
  if (i >= 0) {
    MPI_Test(&me->pending.at[i].request, &flag, MPI_STATUS_IGNORE);
    if (flag) forget(me, i);
  }
}

/* SimGrid frees completed requests even if others are pending, and leaves a null handle. A
 * persistent request leaves no null handle, so it cannot be tested in this way. */
static void do_testall(rank_t* me, const line_t* line) {
  chosen_t chosen = choose(me);
  int flag, n = 0;
  for (int i = 0; i < chosen.n; i++)
    if (me->pending.at[chosen.place[i]].persistent) fail(line, "a persistent request is pending");
  MPI_Testall(chosen.n, chosen.request, &flag, MPI_STATUSES_IGNORE);
  for (int i = 0; i < chosen.n; i++)
    if (chosen.request[i] == MPI_REQUEST_NULL) chosen.place[n++] = chosen.place[i];
  forget_some(me, n, chosen.place);
  free_chosen(chosen);
}

static void do_testany(rank_t* me, const line_t* line) {
  (void)line;
  chosen_t chosen = choose(me);
  int index = MPI_UNDEFINED, flag = 0;
  MPI_Testany(chosen.n, chosen.request, &index, &flag, MPI_STATUS_IGNORE);
  if (flag && index != MPI_UNDEFINED) forget(me, chosen.place[index]);
  free_chosen(chosen);
}

static void do_testsome(rank_t* me, const line_t* line) {
  (void)line;
  some(me, MPI_Testsome);
}

/* -- Cancelling and freeing ------------------------------------------------------------------- */

static void do_cancel(rank_t* me, const line_t* line) {
  const int i = find(me, line);
  if (i < 0) fail(line, "there is no such request");
  MPI_Cancel(&me->pending.at[i].request);
}

static void do_request_free(rank_t* me, const line_t* line) {
  const int i = find(me, line);
  if (i < 0) fail(line, "there is no such request");
  MPI_Request request = me->pending.at[i].request;
  forget(me, i);
  MPI_Request_free(&request);
}

/* -- Persistent requests ---------------------------------------------------------------------- */

static void do_start(rank_t* me, const line_t* line) {
  for (int p = 0; p < me->persistent.n; p++) {
    request_t* const request = &me->persistent.at[p];
    if (!request->active && fits(me, line, request)) {
      request->active = 1;
      MPI_Start(&request->request);
      add(&me->pending, *request);
      return;
    }
  }
}

static int is_listed(const char* list, int number) {
  for (const char* rest = list; rest && *rest; rest += *rest == ',')
    if ((int)strtol(rest, (char**)&rest, 10) == number) return 1;
  return !list;
}

static void do_startall(rank_t* me, const line_t* line) {
  (void)line;
  MPI_Request* requests = malloc((me->persistent.n + 1) * sizeof *requests);
  int n = 0;
  for (int p = 0; p < me->persistent.n; p++) {
    request_t* const request = &me->persistent.at[p];
    if (request->active || !is_listed(me->list, request->number)) continue;
    request->active = 1;
    requests[n++] = request->request;
    add(&me->pending, *request);
  }
  MPI_Startall(n, requests);
  free(requests);
}

const named_action_t request_actions[] = {{"cancel", do_cancel},
                                          {"request_free", do_request_free},
                                          {"start", do_start},
                                          {"startall", do_startall},
                                          {"test", do_test},
                                          {"testall", do_testall},
                                          {"testany", do_testany},
                                          {"testsome", do_testsome},
                                          {"wait", do_wait},
                                          {"waitall", do_waitall},
                                          {"waitany", do_waitany},
                                          {"waitsome", do_waitsome},
                                          {NULL, NULL}};
