#include "view_layout.h"

#include <stdlib.h>

/* The blocks of a layout, so often at such distances. Those without gaps between them are one. */
static bool repeat(struct tisim_layout *layout, int64_t count, int64_t distance) {
  if (count < 1) return false;
  if (count == 1) return true;
  if (layout->levels == 0 && distance == layout->block) {
    layout->block *= count;
    return true;
  }
  if (layout->levels > 0) {
    const int64_t inner = layout->level[layout->levels - 1].count *
                          layout->level[layout->levels - 1].distance;
    if (distance == inner) {
      layout->level[layout->levels - 1].count *= count;
      return true;
    }
  }
  if (layout->levels == TISIM_MOST_LEVELS || distance <= 0) return false;
  layout->level[layout->levels].count = count;
  layout->level[layout->levels].distance = distance;
  ++layout->levels;
  return true;
}

static bool repeat_vector(struct tisim_layout *layout, int64_t count, int64_t blocks,
                          int64_t distance) {
  const int64_t extent = layout->extent;
  if (!repeat(layout, blocks, extent) || !repeat(layout, count, distance)) return false;
  layout->extent = (count - 1) * distance + blocks * extent;
  return true;
}

/* Blocks of one length at one distance, which an indexed type may have. */
static bool repeat_indexed(struct tisim_layout *layout, int count, const int *lengths,
                           bool is_one_length, const int64_t *places) {
  if (count < 1) return false;
  const int64_t distance = count > 1 ? places[1] - places[0] : 0;
  for (int i = 1; i < count; ++i) {
    if (places[i] - places[i - 1] != distance) return false;
    if (!is_one_length && lengths[i] != lengths[0]) return false;
  }
  layout->first += places[0];
  const int64_t extent = layout->extent;
  if (!repeat_vector(layout, count, lengths[0], distance)) return false;
  layout->extent = places[count - 1] - places[0] + lengths[0] * extent;
  return true;
}

static bool repeat_subarray(struct tisim_layout *layout, const int *integers) {
  const int dimensions = integers[0];
  const int *const sizes = integers + 1;
  const int *const parts = sizes + dimensions;
  const int *const starts = parts + dimensions;
  const bool is_fortran = starts[dimensions] == MPI_ORDER_FORTRAN;
  int64_t distance = layout->extent;
  for (int i = 0; i < dimensions; ++i) {
    const int at = is_fortran ? i : dimensions - 1 - i;
    layout->first += starts[at] * distance;
    if (!repeat(layout, parts[at], distance)) return false;
    distance *= sizes[at];
  }
  layout->extent = distance;
  return true;
}

struct contents {
  int combiner;
  int integer_count, address_count, type_count;
  int *integers;
  MPI_Aint *addresses;
  MPI_Datatype *types;
};

static bool combine(const struct contents *c, struct tisim_layout *layout) {
  const int *const n = c->integers;
  switch (c->combiner) {
    case MPI_COMBINER_DUP:
      return true;
    case MPI_COMBINER_CONTIGUOUS:
      return repeat_vector(layout, 1, n[0], 0);
    case MPI_COMBINER_VECTOR:
      return repeat_vector(layout, n[0], n[1], n[2] * layout->extent);
    case MPI_COMBINER_HVECTOR:
      return repeat_vector(layout, n[0], n[1], c->addresses[0]);
    case MPI_COMBINER_SUBARRAY:
      return repeat_subarray(layout, n);
    case MPI_COMBINER_RESIZED:
      layout->first -= c->addresses[0];
      layout->extent = c->addresses[1];
      return true;
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK: {
      const bool is_one_length = c->combiner == MPI_COMBINER_INDEXED_BLOCK ||
                                 c->combiner == MPI_COMBINER_HINDEXED_BLOCK;
      const bool has_addresses = c->combiner == MPI_COMBINER_HINDEXED ||
                                 c->combiner == MPI_COMBINER_HINDEXED_BLOCK;
      const int *const displacements = n + 1 + (is_one_length ? 1 : n[0]);
      int64_t *const places = calloc((size_t)(n[0] > 0 ? n[0] : 1), sizeof *places);
      if (places == NULL) return false;
      for (int i = 0; i < n[0]; ++i) {
        places[i] = has_addresses ? c->addresses[i] : displacements[i] * layout->extent;
      }
      const bool is_regular = repeat_indexed(layout, n[0], n + 1, is_one_length, places);
      free(places);
      return is_regular;
    }
    default:
      return false;
  }
}

static bool layout_of_contents(MPI_Datatype type, struct contents *c,
                               struct tisim_layout *layout) {
  if (c->type_count != 1 || c->integers == NULL || c->addresses == NULL || c->types == NULL ||
      PMPI_Type_get_contents(type, c->integer_count, c->address_count, c->type_count, c->integers,
                             c->addresses, c->types) != MPI_SUCCESS) {
    return false;
  }
  const bool is_regular = tisim_layout_of(c->types[0], layout) && combine(c, layout);
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = MPI_COMBINER_NAMED;
  PMPI_Type_get_envelope(c->types[0], &integers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED) PMPI_Type_free(&c->types[0]);
  return is_regular;
}

bool tisim_layout_of(MPI_Datatype type, struct tisim_layout *layout) {
  struct contents c = {.combiner = MPI_COMBINER_NAMED};
  int size = 0;
  PMPI_Type_size(type, &size);
  PMPI_Type_get_envelope(type, &c.integer_count, &c.address_count, &c.type_count, &c.combiner);
  if (c.combiner == MPI_COMBINER_NAMED) {
    *layout = (struct tisim_layout){.block = size, .extent = size};
    return size > 0;
  }
  c.integers = calloc((size_t)c.integer_count + 1, sizeof *c.integers);
  c.addresses = calloc((size_t)c.address_count + 1, sizeof *c.addresses);
  c.types = calloc((size_t)c.type_count + 1, sizeof *c.types);
  const bool is_regular = layout_of_contents(type, &c, layout);
  free(c.integers);
  free(c.addresses);
  free(c.types);
  return is_regular;
}

bool tisim_has_holes(const struct tisim_layout *layout) {
  return layout->levels > 0 || layout->block != layout->extent;
}

size_t tisim_view_numbers(const struct tisim_layout *layout, int64_t displacement,
                          int64_t *numbers) {
  size_t count = 0;
  int levels = layout->levels;
  /* What is repeated for ever may begin like the last level. */
  if (levels > 0 && layout->extent == layout->level[levels - 1].count *
                                          layout->level[levels - 1].distance) {
    --levels;
  }
  numbers[count++] = displacement + layout->first;
  numbers[count++] = layout->block;
  for (int i = 0; i < levels; ++i) {
    numbers[count++] = layout->level[i].count;
    numbers[count++] = layout->level[i].distance;
  }
  numbers[count++] =
      levels < layout->levels ? layout->level[levels].distance : layout->extent;
  return count;
}
