/* Point-to-point messages. */
#include <stdio.h>
#include <stdlib.h>

#include "record.h"

/* The number of MPI_ANY_TAG in a trace. */
#define ANY_TAG (-444)

/* A message found by a matched probe and not yet received. */
struct found_message {
  uintptr_t handle;
  int source;
  int tag;
  int64_t comm;
  struct found_message* next;
};

static struct found_message* found_messages;
/* The receive of a matched probe, kept between the hooks before and after the call. */
static struct {
  bool known;
  int64_t arguments[3];
  int64_t comm;
} matched_receive;

int64_t tisim_bytes(int64_t count, MPI_Datatype type) {
  MPI_Count size = 0;
  if (count <= 0 || type == MPI_DATATYPE_NULL) return 0;
  PMPI_Type_size_x(type, &size);
  return count * (int64_t)size;
}

static int64_t peer_of(int peer, const struct tisim_comm* comm) {
  if (peer == MPI_PROC_NULL) return TISIM_NULL_RANK;
  /* A communicator of one rank is not in the trace: its messages use the world. */
  if (comm->is_self) return tisim_own_rank();
  return peer == MPI_ANY_SOURCE ? TISIM_ANY_RANK : comm->remote_first + peer;
}

static int64_t tag_of(int tag) { return tag == MPI_ANY_TAG ? ANY_TAG : tag; }

static void set_source(struct tisim_named* named, int source, const MPI_Status* status,
                       const struct tisim_comm* comm) {
  if (source == MPI_ANY_SOURCE && status != NULL) named->source = peer_of(status->MPI_SOURCE, comm);
}

void tisim_after_message(enum tisim_word word, MPI_Count count, MPI_Datatype type, int peer,
                         int tag, MPI_Comm comm, const MPI_Status* status) {
  const struct tisim_comm* const on = tisim_comm_of_messages(comm);
  if (on == NULL) return;
  const int64_t arguments[] = {peer_of(peer, on), tag_of(tag), tisim_bytes(count, type)};
  struct tisim_named named = tisim_on(on->number);
  set_source(&named, peer, status, on);
  tisim_write(word, arguments, 3, &named, false);
}

/* A trace's sendrecv has no tags: the call is written as its two halves and a wait for both. */
void tisim_after_sendrecv(MPI_Count send_count, MPI_Datatype send_type, int destination,
                          int send_tag, MPI_Count count, MPI_Datatype type, int source, int tag,
                          MPI_Comm comm, const MPI_Status* status) {
  const struct tisim_comm* const on = tisim_comm_of_messages(comm);
  if (on == NULL || !tisim_is_active()) return;
  const int64_t sent[] = {peer_of(destination, on), tag_of(send_tag),
                          tisim_bytes(send_count, send_type)};
  const int64_t received[] = {peer_of(source, on), tag_of(tag), tisim_bytes(count, type)};
  struct tisim_request* const halves[] = {tisim_request_add(MPI_REQUEST_NULL, &halves[0]),
                                          tisim_request_add(MPI_REQUEST_NULL, &halves[1])};
  struct tisim_named named = tisim_on(on->number);
  named.request = halves[0]->number;
  tisim_write(TISIM_isend, sent, 3, &named, false);
  named.request = halves[1]->number;
  named.is_any = source == MPI_ANY_SOURCE && status != NULL;
  const int64_t ticket = tisim_write(TISIM_irecv, received, 3, &named, false);
  const int64_t numbers[] = {halves[0]->number, halves[1]->number};
  named = tisim_on(0);
  named.requests = numbers;
  named.request_count = 2;
  set_source(&named, source, status, on);
  tisim_write_matched(ticket, named.source);
  tisim_write(TISIM_waitall, NULL, 0, &named, false);
  tisim_request_done(halves[0]);
  tisim_request_done(halves[1]);
}

void tisim_after_post(enum tisim_word word, MPI_Count count, MPI_Datatype type, int peer, int tag,
                      MPI_Comm comm, MPI_Request request, const void* variable) {
  const bool persistent = word == TISIM_send_init || word == TISIM_ssend_init ||
                          word == TISIM_bsend_init || word == TISIM_recv_init;
  const struct tisim_comm* const on = tisim_comm_of_messages(comm);
  if (on == NULL || (!persistent && !tisim_is_active())) return;
  struct tisim_request* const made = tisim_request_add(request, variable);
  made->persistent = persistent;
  made->active = !persistent;
  made->from_any = peer == MPI_ANY_SOURCE;
  made->is_receive = (word == TISIM_irecv || word == TISIM_recv_init) && peer != MPI_PROC_NULL;
  made->source_offset = on->remote_first;
  const int64_t arguments[] = {peer_of(peer, on), tag_of(tag), tisim_bytes(count, type)};
  struct tisim_named named = tisim_on(on->number);
  named.request = made->number;
  named.is_any = made->from_any && !persistent;
  made->ticket = tisim_write(word, arguments, 3, &named, persistent);
}

void tisim_after_isendrecv(MPI_Count send_count, MPI_Datatype send_type, int destination,
                           int send_tag, MPI_Count count, MPI_Datatype type, int source, int tag,
                           MPI_Comm comm, MPI_Request request, const void* variable) {
  const struct tisim_comm* const on = tisim_comm_of_messages(comm);
  if (on == NULL || !tisim_is_active()) return;
  if (source == MPI_ANY_SOURCE) {
    tisim_unsupported(); /* the status of a request of two calls does not give the source */
    return;
  }
  const int64_t sent[] = {peer_of(destination, on), tag_of(send_tag),
                          tisim_bytes(send_count, send_type)};
  const int64_t received[] = {peer_of(source, on), tag_of(tag), tisim_bytes(count, type)};
  const struct tisim_request* const both = tisim_request_add_several(request, variable, 2);
  struct tisim_named named = tisim_on(on->number);
  named.request = both->number;
  tisim_write(TISIM_isend, sent, 3, &named, false);
  named.request = both->more[0];
  tisim_write(TISIM_irecv, received, 3, &named, false);
}

void tisim_after_partitioned(enum tisim_word word, int parts, MPI_Count count, MPI_Datatype type,
                             int peer, int tag, MPI_Comm comm, MPI_Request request,
                             const void* variable) {
  const struct tisim_comm* const on = tisim_comm_of_messages(comm);
  if (on == NULL) return;
  const int64_t arguments[] = {peer_of(peer, on), tag_of(tag), parts * tisim_bytes(count, type)};
  tisim_request_keep(request, variable, word, on->number, word == TISIM_isend ? parts : 0,
                     arguments, 3);
}

void tisim_after_ready(int parts, MPI_Request request) {
  tisim_begin_list();
  struct tisim_request* const sent = tisim_request_find(request, NULL);
  if (sent == NULL || sent->kept == NULL || !sent->active) return;
  sent->kept->ready += parts;
  if (sent->kept->ready == sent->kept->parts) tisim_write_kept(sent);
}

static void write_start(struct tisim_request* started) {
  if (started == NULL) return;
  started->active = true;
  if (started->kept != NULL) {
    started->kept->ready = 0;
    if (started->kept->parts == 0) tisim_write_kept(started);
    return;
  }
  struct tisim_named named = tisim_on(0);
  named.request = started->number;
  named.is_any = started->from_any;
  started->ticket = tisim_write(TISIM_start, NULL, 0, &named, false);
}

void tisim_after_start(MPI_Request request, const void* variable) {
  if (!tisim_is_active()) return;
  tisim_begin_list();
  write_start(tisim_request_find(request, variable));
}

/* Starts receives from any source one by one, since a line can give only one matched source; also
 * calls that the trace repeats at each start. */
void tisim_after_startall(int count, const MPI_Request* requests, const void* variables,
                          size_t stride) {
  if (!tisim_is_active() || count <= 0) return;
  int64_t* const numbers = tisim_numbers((size_t)count);
  size_t known = 0;
  bool one_by_one = false;
  tisim_begin_list();
  for (int i = 0; i < count; ++i) {
    const void* const variable = (const char*)variables + (size_t)i * stride;
    struct tisim_request* const started = tisim_request_find(requests[i], variable);
    if (started == NULL) continue;
    started->active = true;
    one_by_one = one_by_one || started->from_any || started->kept != NULL;
    numbers[known++] = started->number;
  }
  if (one_by_one) {
    tisim_begin_list();
    for (int i = 0; i < count; ++i) {
      const void* const variable = (const char*)variables + (size_t)i * stride;
      write_start(tisim_request_find(requests[i], variable));
    }
    return;
  }
  if (known == 0) return;
  struct tisim_named named = tisim_on(0);
  named.requests = numbers;
  named.request_count = known;
  tisim_write(TISIM_startall, NULL, 0, &named, false);
}

void tisim_after_probe(int source, int tag, MPI_Comm comm, const MPI_Status* status, bool found) {
  const struct tisim_comm* const on = tisim_comm_of_messages(comm);
  if (on == NULL || (!found && !tisim_keeps_failed_tests())) return;
  const int64_t arguments[] = {peer_of(source, on), tag_of(tag)};
  struct tisim_named named = tisim_on(on->number);
  if (found) set_source(&named, source, status, on);
  tisim_write(found ? TISIM_probe : TISIM_iprobe, arguments, 2, &named, false);
}

void tisim_record_probe(int source, int tag, MPI_Comm comm, bool found) {
  const struct tisim_comm* const on = tisim_comm_of_messages(comm);
  if (on == NULL) return;
  const uint64_t numbers[] = {(uint64_t)source, (uint64_t)tag, (uint64_t)on->number};
  tisim_record_test(tisim_key(TISIM_probe, numbers, 3), found);
}

/* A matched probe is written as a probe; the receive of its message names the source and tag that
 * it found. */
void tisim_after_mprobe(int source, int tag, MPI_Comm comm, const MPI_Status* status,
                        MPI_Message message, bool found) {
  const struct tisim_comm* const on = tisim_comm_of_messages(comm);
  if (on == NULL) return;
  tisim_after_probe(source, tag, comm, status, found);
  if (!found || message == MPI_MESSAGE_NO_PROC) return;
  struct found_message* const kept = malloc(sizeof *kept);
  if (kept == NULL) return;
  kept->handle = (uintptr_t)message;
  kept->source = (int)peer_of(status->MPI_SOURCE, on);
  kept->tag = status->MPI_TAG;
  kept->comm = on->number;
  kept->next = found_messages;
  found_messages = kept;
}

void tisim_before_mrecv(MPI_Count count, MPI_Datatype type, MPI_Message message) {
  struct found_message** link = &found_messages;
  while (*link != NULL && (*link)->handle != (uintptr_t)message) link = &(*link)->next;
  struct found_message* const kept = *link;
  matched_receive.known = kept != NULL;
  if (kept == NULL) return;
  matched_receive.arguments[0] = kept->source;
  matched_receive.arguments[1] = kept->tag;
  matched_receive.arguments[2] = tisim_bytes(count, type);
  matched_receive.comm = kept->comm;
  *link = kept->next;
  free(kept);
}

void tisim_after_mrecv(void) {
  if (!matched_receive.known) return;
  const struct tisim_named named = tisim_on(matched_receive.comm);
  tisim_write(TISIM_recv, matched_receive.arguments, 3, &named, false);
}

void tisim_after_imrecv(MPI_Request request, const void* variable) {
  if (!matched_receive.known || !tisim_is_active()) return;
  struct tisim_named named = tisim_on(matched_receive.comm);
  struct tisim_request* const made = tisim_request_add(request, variable);
  made->is_receive = true;
  named.request = made->number;
  tisim_write(TISIM_irecv, matched_receive.arguments, 3, &named, false);
}
