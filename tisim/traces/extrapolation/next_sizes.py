"""Suggestions of further numbers of ranks to record, to resolve ambiguities."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count, takewhile
from operator import mul

from tisim.traces.extrapolation.grids import Grid, families
from tisim.traces.extrapolation.volumes import FEWEST_SIZES
from tisim.traces.generate.pattern import process_grid

# Without a target, maximum ratio of a suggested size to the largest recorded one.
_FARTHEST = 4
# Minimum side of a grid in which some rank has neighbours on all sides.
_INNER_SIDE = 3
# Maximum dimensions of grids reported before the program is known.
_USUAL_DIMENSIONS = 3


def candidate_sizes(sizes: Sequence[int], target: int | None = None) -> Iterator[int]:
    """Yield numbers of ranks like the recorded ones, below the target: first those above the
    largest recorded one, then those below it.

    They are powers of two, squares or cubes if all recorded sizes are, and otherwise multiples of
    their greatest common divisor.
    """
    most = _FARTHEST * max(sizes) if target is None else target - 1
    found = takewhile(lambda size: size <= most, map(_kind(sizes), count(1)))
    new = [size for size in found if size > min(sizes) and size not in sizes]
    yield from (size for size in new if size > max(sizes))
    yield from (size for size in reversed(new) if size < max(sizes))


def _kind(sizes: Sequence[int]) -> Callable[[int], int]:
    """Return the sequence of numbers to which the sizes belong, as a function of the index."""
    for kind in (lambda n: 1 << n, lambda n: n**2, lambda n: n**3):
        if all(_is_of(kind, size) for size in sizes):
            return kind
    return partial(mul, math.gcd(*sizes))


def _is_of(kind: Callable[[int], int], size: int) -> bool:
    return size in takewhile(lambda made: made <= size, map(kind, count()))


def distinguishing_size(
    sizes: Sequence[int], target: int, explanations: Sequence[Callable[[int], object]]
) -> int | None:
    """Return a number of ranks for which all explanations give distinct values."""
    for size in candidate_sizes(sizes, target):
        values = [explanation(size) for explanation in explanations]
        if None not in values and len(set(values)) == len(values):
            return size
    return None


def example_text(size: int | None) -> str:
    """Format the example for a message; empty if None."""
    return "" if size is None else f", such as {size:,} ranks"


def too_small(sizes: Sequence[int], target: int, dimensions: int) -> str:
    """Return a sentence with sizes to record if some are too small to have inner ranks in a grid.

    Inner ranks have neighbours on all sides. Empty if no size is too small, or the target is.
    """
    small = [size for size in sizes if not _has_inner(size, dimensions)]
    for kind in (_kind(sizes), partial(mul, math.gcd(*sizes))):
        found = takewhile(lambda size: size < target, map(kind, count(1)))
        wanted = [size for size in found if _has_inner(size, dimensions)][:FEWEST_SIZES]
        if small and len(wanted) == FEWEST_SIZES:
            return (
                f"on a grid of {dimensions} dimensions no rank of {' and '.join(map(str, small))} "
                f"has neighbours on all sides; record {wanted[0]:,}, {wanted[1]:,} and "
                f"{wanted[2]:,} ranks"
            )
    return ""


def _has_inner(size: int, dimensions: int) -> bool:
    return min(process_grid(size, dimensions)) >= _INNER_SIDE


def ambiguous_grids(sizes: Sequence[int], target: int) -> list[str]:
    """Return sentences on questions that the sizes leave open for any program on a grid.

    Either sizes are too small, or grids differ only at the target.
    """
    alike: dict[tuple[object, ...], dict[tuple[int, ...], Grid]] = {}
    for grid in families([*sizes, target]):
        recorded = tuple(map(grid.sides, sizes))
        at_target = grid.sides(target)
        is_usual = at_target is not None and 1 < len(at_target) <= _USUAL_DIMENSIONS
        if at_target is not None and is_usual and not grid.is_fixed and None not in recorded:
            alike.setdefault(recorded, {}).setdefault(at_target, grid)
    small = too_small(sizes, target, 2)
    said = [f"if the program has a grid: {small}"] if small else []
    for grids in alike.values():
        if len(grids) > 1:
            one, other, *_ = grids.values()
            size = distinguishing_size(sizes, target, [one.sides, other.sides])
            said.append(
                f"these sizes do not distinguish {one.name} from {other.name}, which differ at "
                f"{target:,} ranks; if the program has such a grid, record a size that "
                f"does{example_text(size)}"
            )
    return said
