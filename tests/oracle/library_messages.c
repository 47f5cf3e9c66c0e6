// Prints the messages sent by each collective call of an MPI library, one line per message:
// "OPERATION BYTES ROOT SOURCE DESTINATION SIZE", for each rank in the order of its sends.
//
// Rank 0 reads calls from standard input, "OPERATION BYTES ROOT" per line; BYTES are those of a
// block or vector, depending on the operation. A function that replaces the library's reports each
// message sent:
//   mpicc.openmpi -rdynamic -o messages messages.c
//   mpirun.openmpi --mca pml_monitoring_enable 1 ... ./messages MOST_BYTES
//   mpicc.mpich -rdynamic -o messages messages.c -ldl
//   MPIR_CVAR_NOLOCAL=1 mpirun.mpich ... ./messages MOST_BYTES
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 1 << 20 };
static struct {
  int to;
  size_t bytes;
} sent[kMost];
static int count, recording;

// Reports a message sent by this rank.
static void report_message(int to, size_t bytes) {
  if (!recording || count == kMost) return;
  sent[count].to = to;
  sent[count++].bytes = bytes;
}

// All ranks call `prepare_reports` before the first call.
#ifdef OPEN_MPI

// Open MPI's own monitoring (component `pml/monitoring`) reports each message to this function.
void mca_common_monitoring_record_pml(int world_rank, size_t bytes, int tag) {
  (void)tag;  // for a persistent request, this is not the message's tag
  report_message(world_rank, bytes);
}

static void prepare_reports(int ranks, int me) {
  (void)ranks;
  (void)me;
}

#else

// MPICH over UCX passes each message to this function, including those within a node.
// MPIR_CVAR_NOLOCAL=1 makes each rank a node, MPIR_CVAR_NUM_CLIQUES=N makes N nodes of one machine.
// Messages of a rank to itself are not reported: they are copies.
#include <dlfcn.h>
#include <ucp/api/ucp.h>

static ucp_ep_h *endpoints, last;
static int endpoint_count;

// Non-contiguous types: their packing functions.
enum { kMostTypes = 4096 };
static struct {
  ucp_datatype_t type;
  ucp_generic_dt_ops_t packing;
  void* context;
} types[kMostTypes];
static int type_count;

ucs_status_t ucp_dt_create_generic(const ucp_generic_dt_ops_t* packing, void* context,
                                   ucp_datatype_t* type) {
  ucs_status_t (*next)(const ucp_generic_dt_ops_t*, void*, ucp_datatype_t*) =
      dlsym(RTLD_NEXT, "ucp_dt_create_generic");
  const ucs_status_t status = next(packing, context, type);
  const int place = type_count++ % kMostTypes;
  types[place].type = *type;
  types[place].packing = *packing;
  types[place].context = context;
  return status;
}

static size_t bytes_of(const void* buffer, size_t number, const ucp_request_param_t* given) {
  if (!(given->op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE)) return number;
  const ucp_datatype_t type = given->datatype;
  if ((type & UCP_DATATYPE_CLASS_MASK) == UCP_DATATYPE_CONTIG) {
    return number * (type >> UCP_DATATYPE_SHIFT);
  }
  for (int back = 1; back <= type_count && back <= kMostTypes; ++back) {
    const int place = (type_count - back) % kMostTypes;
    if (types[place].type != type) continue;
    const ucp_generic_dt_ops_t* packing = &types[place].packing;
    // Do not finish the state: MPICH would release the type, which is still needed.
    return packing->packed_size(packing->start_pack(types[place].context, buffer, number));
  }
  abort();  // unknown type
}

ucs_status_ptr_t ucp_tag_send_nbx(ucp_ep_h endpoint, const void* buffer, size_t number,
                                  ucp_tag_t tag, const ucp_request_param_t* given) {
  static ucs_status_ptr_t (*next)(ucp_ep_h, const void*, size_t, ucp_tag_t,
                                  const ucp_request_param_t*);
  if (next == NULL) next = dlsym(RTLD_NEXT, "ucp_tag_send_nbx");
  last = endpoint;
  for (int to = 0; to < endpoint_count; ++to) {
    if (endpoints[to] == endpoint) report_message(to, bytes_of(buffer, number, given));
  }
  return next(endpoint, buffer, number, tag, given);
}

static void prepare_reports(int ranks, int me) {
  endpoints = calloc((size_t)ranks, sizeof endpoints[0]);
  for (int to = 0; to < ranks; ++to) {
    MPI_Request request;
    char in, out = 0;
    if (to == me) continue;
    MPI_Irecv(&in, 1, MPI_CHAR, to, 0, MPI_COMM_WORLD, &request);
    MPI_Send(&out, 1, MPI_CHAR, to, 0, MPI_COMM_WORLD);
    endpoints[to] = last;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  endpoint_count = ranks;
}

#endif

static int ranks, me;

static void call(const char* operation, int k, int root, char* a, char* b, int* n, int* d) {
  MPI_Request started = MPI_REQUEST_NULL;
  const MPI_Comm w = MPI_COMM_WORLD;
  for (int i = 0; i < ranks; ++i) {
    n[i] = k;
    d[i] = i * k;
  }
  if (!strcmp(operation, "barrier")) MPI_Barrier(w);
  if (!strcmp(operation, "bcast")) MPI_Bcast(a, k, MPI_BYTE, root, w);
  if (!strcmp(operation, "reduce")) MPI_Reduce(a, b, k, MPI_BYTE, MPI_BOR, root, w);
  if (!strcmp(operation, "allreduce")) MPI_Allreduce(a, b, k, MPI_BYTE, MPI_BOR, w);
  if (!strcmp(operation, "gather")) MPI_Gather(a, k, MPI_BYTE, b, k, MPI_BYTE, root, w);
  if (!strcmp(operation, "gatherv")) MPI_Gatherv(a, k, MPI_BYTE, b, n, d, MPI_BYTE, root, w);
  if (!strcmp(operation, "scatter")) MPI_Scatter(a, k, MPI_BYTE, b, k, MPI_BYTE, root, w);
  if (!strcmp(operation, "scatterv")) MPI_Scatterv(a, n, d, MPI_BYTE, b, k, MPI_BYTE, root, w);
  if (!strcmp(operation, "allgather")) MPI_Allgather(a, k, MPI_BYTE, b, k, MPI_BYTE, w);
  if (!strcmp(operation, "allgatherv")) MPI_Allgatherv(a, k, MPI_BYTE, b, n, d, MPI_BYTE, w);
  if (!strcmp(operation, "alltoall")) MPI_Alltoall(a, k, MPI_BYTE, b, k, MPI_BYTE, w);
  if (!strcmp(operation, "alltoallv")) MPI_Alltoallv(a, n, d, MPI_BYTE, b, n, d, MPI_BYTE, w);
  if (!strcmp(operation, "reduce_scatter")) MPI_Reduce_scatter(a, b, n, MPI_BYTE, MPI_BOR, w);
  if (!strcmp(operation, "scan")) MPI_Scan(a, b, k, MPI_BYTE, MPI_BOR, w);
  if (!strcmp(operation, "exscan")) MPI_Exscan(a, b, k, MPI_BYTE, MPI_BOR, w);
  if (!strcmp(operation, "ibarrier")) MPI_Ibarrier(w, &started);
  if (!strcmp(operation, "ibcast")) MPI_Ibcast(a, k, MPI_BYTE, root, w, &started);
  if (!strcmp(operation, "ireduce")) MPI_Ireduce(a, b, k, MPI_BYTE, MPI_BOR, root, w, &started);
  if (!strcmp(operation, "iallreduce")) MPI_Iallreduce(a, b, k, MPI_BYTE, MPI_BOR, w, &started);
  if (!strcmp(operation, "igather")) MPI_Igather(a, k, MPI_BYTE, b, k, MPI_BYTE, root, w, &started);
  if (!strcmp(operation, "igatherv"))
    MPI_Igatherv(a, k, MPI_BYTE, b, n, d, MPI_BYTE, root, w, &started);
  if (!strcmp(operation, "iscatter"))
    MPI_Iscatter(a, k, MPI_BYTE, b, k, MPI_BYTE, root, w, &started);
  if (!strcmp(operation, "iscatterv"))
    MPI_Iscatterv(a, n, d, MPI_BYTE, b, k, MPI_BYTE, root, w, &started);
  if (!strcmp(operation, "iallgather")) MPI_Iallgather(a, k, MPI_BYTE, b, k, MPI_BYTE, w, &started);
  if (!strcmp(operation, "iallgatherv"))
    MPI_Iallgatherv(a, k, MPI_BYTE, b, n, d, MPI_BYTE, w, &started);
  if (!strcmp(operation, "ialltoall")) MPI_Ialltoall(a, k, MPI_BYTE, b, k, MPI_BYTE, w, &started);
  if (!strcmp(operation, "ialltoallv"))
    MPI_Ialltoallv(a, n, d, MPI_BYTE, b, n, d, MPI_BYTE, w, &started);
  if (!strcmp(operation, "ireduce_scatter"))
    MPI_Ireduce_scatter(a, b, n, MPI_BYTE, MPI_BOR, w, &started);
  if (!strcmp(operation, "iscan")) MPI_Iscan(a, b, k, MPI_BYTE, MPI_BOR, w, &started);
  if (!strcmp(operation, "iexscan")) MPI_Iexscan(a, b, k, MPI_BYTE, MPI_BOR, w, &started);
  if (operation[0] == 'i') MPI_Wait(&started, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  const size_t most = argc > 1 ? (size_t)atol(argv[1]) : 1 << 20;
  char *a = calloc((size_t)ranks, most), *b = calloc((size_t)ranks, most);
  int *n = malloc(sizeof(int) * (size_t)ranks), *d = malloc(sizeof(int) * (size_t)ranks);
  prepare_reports(ranks, me);
  for (;;) {
    struct {
      char operation[32];
      int bytes, root;
    } next = {"", 0, 0};
    if (me == 0 && scanf("%31s %d %d", next.operation, &next.bytes, &next.root) != 3)
      next.operation[0] = '\0';
    MPI_Bcast(&next, sizeof next, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (!next.operation[0]) break;
    count = 0;
    recording = 1;
    call(next.operation, next.bytes, next.root, a, b, n, d);
    recording = 0;
    if (me > 0) {
      MPI_Send(&count, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
      MPI_Send(sent, count * (int)sizeof sent[0], MPI_BYTE, 0, 2, MPI_COMM_WORLD);
      continue;
    }
    for (int from = 0; from < ranks; ++from) {
      if (from > 0) {
        MPI_Recv(&count, 1, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(sent, count * (int)sizeof sent[0], MPI_BYTE, from, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
      }
      for (int i = 0; i < count; ++i) {
        printf("%s %d %d %d %d %zu\n", next.operation, next.bytes, next.root, from, sent[i].to,
               sent[i].bytes);
      }
    }
  }
  MPI_Finalize();
  return 0;
}
