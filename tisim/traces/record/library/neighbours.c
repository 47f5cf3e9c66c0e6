/* Collectives among the neighbours of a topology, written as messages: a trace has no action for
 * them. Their tags are above those that programs use. */
#include <stdlib.h>

#include "record.h"

#define FIRST_TAG 2147483000

/* A neighbour, and the tag of the message to it or from it. */
struct neighbour {
  int rank;
  int tag;
};

struct neighbours {
  int sources;
  int destinations;
  struct neighbour *source; /* followed in memory by the destinations */
  struct neighbour *destination;
};

static bool make_room(struct neighbours *all, int sources, int destinations) {
  all->sources = sources;
  all->destinations = destinations;
  all->source = calloc((size_t)sources + (size_t)destinations + 1, sizeof *all->source);
  all->destination = all->source + sources;
  return all->source != NULL;
}

/* What goes down a dimension arrives from above: the message has the tag of its direction. */
static bool cartesian(MPI_Comm comm, struct neighbours *all) {
  int dimensions = 0;
  PMPI_Cartdim_get(comm, &dimensions);
  if (!make_room(all, 2 * dimensions, 2 * dimensions)) return false;
  for (int i = 0; i < dimensions; ++i) {
    int below = MPI_PROC_NULL;
    int above = MPI_PROC_NULL;
    PMPI_Cart_shift(comm, i, 1, &below, &above);
    const struct neighbour down = {below, FIRST_TAG + 2 * i};
    const struct neighbour up = {above, FIRST_TAG + 2 * i + 1};
    all->destination[2 * i] = down;
    all->destination[2 * i + 1] = up;
    all->source[2 * i].rank = below;
    all->source[2 * i].tag = up.tag;
    all->source[2 * i + 1].rank = above;
    all->source[2 * i + 1].tag = down.tag;
  }
  return true;
}

static void set(struct neighbour *neighbours, const int *ranks, int count) {
  for (int i = 0; i < count; ++i) {
    neighbours[i].rank = ranks[i];
    neighbours[i].tag = FIRST_TAG;
  }
}

static bool graph(MPI_Comm comm, struct neighbours *all) {
  int rank = 0;
  int count = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Graph_neighbors_count(comm, rank, &count);
  int *const ranks = calloc((size_t)count + 1, sizeof *ranks);
  if (ranks == NULL || !make_room(all, count, count)) {
    free(ranks);
    return false;
  }
  PMPI_Graph_neighbors(comm, rank, count, ranks);
  set(all->source, ranks, count);
  set(all->destination, ranks, count);
  free(ranks);
  return true;
}

static bool distributed_graph(MPI_Comm comm, struct neighbours *all) {
  int in = 0;
  int out = 0;
  int weighted = 0;
  PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  /* Ranks and weights of both sides. */
  int *const ranks = calloc(2 * ((size_t)in + (size_t)out) + 1, sizeof *ranks);
  if (ranks == NULL || !make_room(all, in, out)) {
    free(ranks);
    return false;
  }
  int *const weights = ranks + in + out;
  PMPI_Dist_graph_neighbors(comm, in, ranks, weights, out, ranks + in, weights + in);
  set(all->source, ranks, in);
  set(all->destination, ranks + in, out);
  free(ranks);
  return true;
}

static bool find(MPI_Comm comm, struct neighbours *all) {
  int topology = MPI_UNDEFINED;
  PMPI_Topo_test(comm, &topology);
  if (topology == MPI_CART) return cartesian(comm, all);
  if (topology == MPI_GRAPH) return graph(comm, all);
  return topology == MPI_DIST_GRAPH && distributed_graph(comm, all);
}

static int64_t bytes_of(const struct tisim_side *side, int neighbour, size_t stride) {
  const int64_t count = tisim_count(&side->counts, neighbour);
  if (side->types == NULL) return tisim_bytes(count, side->type);
  if (stride == sizeof(MPI_Datatype)) {
    return tisim_bytes(count, ((const MPI_Datatype *)side->types)[neighbour]);
  }
  return tisim_bytes(count, PMPI_Type_f2c(((const MPI_Fint *)side->types)[neighbour]));
}

static void post(enum tisim_word word, const struct neighbour *neighbour, int64_t bytes,
                 const struct tisim_comm *comm, int64_t request) {
  const int64_t peer = neighbour->rank == MPI_PROC_NULL ? TISIM_NULL_RANK : neighbour->rank;
  const int64_t arguments[] = {peer, neighbour->tag, bytes};
  struct tisim_named named = tisim_on(comm->number);
  named.request = request;
  tisim_write(word, arguments, 3, &named, false);
}

static int64_t number_of(const struct tisim_request *request, int message) {
  return message == 0 ? request->number : request->more[message - 1];
}

void tisim_after_neighbours(struct tisim_side sent, struct tisim_side received, size_t stride,
                            MPI_Comm comm, const struct tisim_posted *posted) {
  const struct tisim_comm *const on = tisim_comm_of(comm);
  struct neighbours all;
  if (on == NULL || on->is_self || !tisim_is_active() || !find(comm, &all)) return;
  const int total = all.sources + all.destinations;
  struct tisim_request *const request =
      posted == NULL ? tisim_request_add_several(MPI_REQUEST_NULL, &all, (size_t)total)
                     : tisim_request_add_several(posted->request, posted->variable, (size_t)total);
  int message = 0;
  for (int i = 0; i < all.sources; ++i) {
    post(TISIM_irecv, &all.source[i], bytes_of(&received, i, stride), on,
         number_of(request, message++));
  }
  for (int i = 0; i < all.destinations; ++i) {
    post(TISIM_isend, &all.destination[i], bytes_of(&sent, i, stride), on,
         number_of(request, message++));
  }
  free(all.source);
  if (posted != NULL) return;
  if (total != 0) {
    struct tisim_named named = tisim_on(0);
    int64_t *const numbers = tisim_numbers((size_t)total);
    for (int i = 0; i < total; ++i) numbers[i] = number_of(request, i);
    named.requests = numbers;
    named.request_count = (size_t)total;
    tisim_write(TISIM_waitall, NULL, 0, &named, false);
  }
  tisim_request_done(request);
}
