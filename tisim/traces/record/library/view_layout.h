/* Where a type of a view has its bytes, if these lie at regular distances. */
#ifndef TISIM_VIEW_LAYOUT_H
#define TISIM_VIEW_LAYOUT_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TISIM_MOST_LEVELS 16
#define TISIM_MOST_VIEW_NUMBERS (3 + 2 * TISIM_MOST_LEVELS)

/* Blocks of `block` bytes, repeated at distances on each level, from the inside. */
struct tisim_layout {
  int64_t first; /* byte of the first block */
  int64_t block;
  int levels;
  struct {
    int64_t count;
    int64_t distance;
  } level[TISIM_MOST_LEVELS];
  int64_t extent;
};

/* False: its blocks are irregular. */
bool tisim_layout_of(MPI_Datatype type, struct tisim_layout *layout);
bool tisim_has_holes(const struct tisim_layout *layout);
/* The numbers of a file_set_view behind its handle; returns how many. */
size_t tisim_view_numbers(const struct tisim_layout *layout, int64_t displacement,
                          int64_t *numbers);

#endif
