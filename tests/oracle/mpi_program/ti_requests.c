/* Pending requests: waiting for them, testing them, starting persistent ones.
 *
 * A line names one by its key, "src dst tag"; a request of a non-blocking collective has a
 * negative tag of SimGrid's and no ranks. Lines without a key are about all that are pending.
 */
#include "ti_exec.h"

#include <stdlib.h>
#include <string.h>

request_t* add(requests_t* list, request_t request)
{
  if (list->n == list->capacity) {
    list->capacity = list->capacity ? 2 * list->capacity : 16;
    list->at = realloc(list->at, list->capacity * sizeof *list->at);
  }
  list->at[list->n] = request;
  return &list->at[list->n++];
}

void remember(rank_t* me, int src, int dst, int tag, MPI_Request request)
{
  if (request != MPI_REQUEST_NULL)
    add(&me->pending, (request_t){src, dst, tag, me->comm_id, request, .persistent = 0});
}

/* A pending request is complete. A persistent one may be started again. */
static void forget(rank_t* me, int i)
{
  requests_t* const list = &me->pending;
  for (int p = 0; list->at[i].persistent && p < me->persistent.n; p++)
    if (me->persistent.at[p].request == list->at[i].request)
      me->persistent.at[p].active = 0;
  list->n--;
  memmove(list->at + i, list->at + i + 1, (list->n - i) * sizeof *list->at);
}

static int fits(const rank_t* me, const line_t* line, const request_t* request)
{
  const int src = integer(line, 2), dst = integer(line, 3), tag = integer(line, 4);
  if (request->tag != tag || request->comm != me->comm_id)
    return 0;
  return (tag < 0 && tag != -444) || (request->src == src && request->dst == dst);
}

/* The oldest pending request of the key of a line, or -1. */
static int find(const rank_t* me, const line_t* line)
{
  for (int i = 0; i < me->pending.n; i++)
    if (fits(me, line, &me->pending.at[i]))
      return i;
  return -1;
}

static MPI_Request* all_requests(const rank_t* me)
{
  MPI_Request* requests = malloc((me->pending.n + 1) * sizeof *requests);
  for (int i = 0; i < me->pending.n; i++)
    requests[i] = me->pending.at[i].request;
  return requests;
}

static int descending(const void* a, const void* b) { return *(const int*)b - *(const int*)a; }

/* Forgets the requests at these places. */
static void forget_some(rank_t* me, int n, int* places)
{
  if (n == MPI_UNDEFINED)
    return;
  qsort(places, n, sizeof *places, descending);
  for (int i = 0; i < n; i++)
    forget(me, places[i]);
}

/* -- Waiting -------------------------------------------------------------------------------- */

static void do_wait(rank_t* me, const line_t* line)
{
  const int i = find(me, line);
  if (i >= 0) {
    MPI_Request request = me->pending.at[i].request;
    forget(me, i);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

void wait_for_all(rank_t* me)
{
  const int n = me->pending.n;
  MPI_Request* requests = all_requests(me);
  while (me->pending.n > 0)
    forget(me, me->pending.n - 1);
  MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
  free(requests);
}

static void do_waitall(rank_t* me, const line_t* line)
{
  (void)line;
  wait_for_all(me);
}

static void do_waitany(rank_t* me, const line_t* line)
{
  (void)line;
  MPI_Request* requests = all_requests(me);
  int index = MPI_UNDEFINED;
  MPI_Waitany(me->pending.n, requests, &index, MPI_STATUS_IGNORE);
  if (index != MPI_UNDEFINED)
    forget(me, index);
  free(requests);
}

typedef int (*some_t)(int, MPI_Request*, int*, int*, MPI_Status*);

static void some(rank_t* me, some_t call)
{
  if (me->pending.n == 0)
    return;
  MPI_Request* requests = all_requests(me);
  int count = 0, *places = malloc(me->pending.n * sizeof *places);
  call(me->pending.n, requests, &count, places, MPI_STATUSES_IGNORE);
  forget_some(me, count, places);
  free(places);
  free(requests);
}

static void do_waitsome(rank_t* me, const line_t* line)
{
  (void)line;
  some(me, MPI_Waitsome);
}

/* -- Testing -------------------------------------------------------------------------------- */

static void do_test(rank_t* me, const line_t* line)
{
  const int i = find(me, line);
  int flag = 0;
  if (i >= 0) {
    MPI_Test(&me->pending.at[i].request, &flag, MPI_STATUS_IGNORE);
    if (flag)
      forget(me, i);
  }
}

/* SimGrid frees what is complete whether all are or not; it leaves a null handle behind. A
 * persistent request leaves no such trace, so it cannot be tested in this way. */
static void do_testall(rank_t* me, const line_t* line)
{
  MPI_Request* requests = all_requests(me);
  const int n = me->pending.n;
  for (int i = 0; i < n; i++)
    if (me->pending.at[i].persistent)
      fail(line, "a persistent request is pending");
  int flag;
  MPI_Testall(n, requests, &flag, MPI_STATUSES_IGNORE);
  for (int i = n - 1; i >= 0; i--)
    if (requests[i] == MPI_REQUEST_NULL)
      forget(me, i);
  free(requests);
}

static void do_testany(rank_t* me, const line_t* line)
{
  (void)line;
  MPI_Request* requests = all_requests(me);
  int index = MPI_UNDEFINED, flag = 0;
  MPI_Testany(me->pending.n, requests, &index, &flag, MPI_STATUS_IGNORE);
  if (flag && index != MPI_UNDEFINED)
    forget(me, index);
  free(requests);
}

static void do_testsome(rank_t* me, const line_t* line)
{
  (void)line;
  some(me, MPI_Testsome);
}

/* -- Persistent requests ---------------------------------------------------------------------- */

static void do_start(rank_t* me, const line_t* line)
{
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

static void do_startall(rank_t* me, const line_t* line)
{
  (void)line;
  MPI_Request* requests = malloc((me->persistent.n + 1) * sizeof *requests);
  int n = 0;
  for (int p = 0; p < me->persistent.n; p++) {
    request_t* const request = &me->persistent.at[p];
    if (request->active)
      continue;
    request->active = 1;
    requests[n++] = request->request;
    add(&me->pending, *request);
  }
  MPI_Startall(n, requests);
  free(requests);
}

const named_action_t request_actions[] = {
    {"start", do_start},       {"startall", do_startall}, {"test", do_test},         {"testall", do_testall},
    {"testany", do_testany},   {"testsome", do_testsome}, {"wait", do_wait},         {"waitall", do_waitall},
    {"waitany", do_waitany},   {"waitsome", do_waitsome}, {NULL, NULL}};
