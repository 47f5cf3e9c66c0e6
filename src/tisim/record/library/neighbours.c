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

static void post(enum tisim_word word, const struct neighbour *neighbour, int64_t bytes,
                 const struct tisim_comm *comm, struct tisim_request **request) {
  const int64_t peer = neighbour->rank == MPI_PROC_NULL ? TISIM_NULL_RANK : neighbour->rank;
  const int64_t arguments[] = {peer, neighbour->tag, bytes};
  struct tisim_named named = tisim_on(comm->number);
  *request = tisim_request_add(MPI_REQUEST_NULL, request);
  named.request = (*request)->number;
  tisim_write(word, arguments, 3, &named, false);
}

void tisim_after_neighbours(const int *send_counts, int send_count, MPI_Datatype send_type,
                            const int *counts, int count, MPI_Datatype type, MPI_Comm comm) {
  const struct tisim_comm *const on = tisim_comm_of(comm);
  struct neighbours all;
  if (on == NULL || on->is_self || !tisim_is_active() || !find(comm, &all)) return;
  const size_t total = (size_t)all.sources + (size_t)all.destinations;
  struct tisim_request **const requests = calloc(total + 1, sizeof(*requests));
  int64_t *const numbers = tisim_numbers(total + 1);
  if (requests != NULL) {
    size_t posted = 0;
    for (int i = 0; i < all.sources; ++i) {
      post(TISIM_irecv, &all.source[i], tisim_bytes(counts == NULL ? count : counts[i], type), on,
           &requests[posted++]);
    }
    for (int i = 0; i < all.destinations; ++i) {
      post(TISIM_isend, &all.destination[i],
           tisim_bytes(send_counts == NULL ? send_count : send_counts[i], send_type), on,
           &requests[posted++]);
    }
    for (size_t i = 0; i < posted; ++i) numbers[i] = requests[i]->number;
    if (posted != 0) {
      struct tisim_named named = tisim_on(0);
      named.requests = numbers;
      named.request_count = posted;
      tisim_write(TISIM_waitall, NULL, 0, &named, false);
    }
    for (size_t i = 0; i < posted; ++i) tisim_request_done(requests[i]);
  }
  free(requests);
  free(all.source);
}
