"""Which numbers of ranks to record where those at hand leave something open."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count, takewhile
from operator import mul

from tisim.traces.extrapolation.grids import Grid, families
from tisim.traces.extrapolation.volumes import FEWEST_SIZES
from tisim.traces.generate.pattern import process_grid

# Without a target, a further size is at most so many times the largest recorded one.
_FARTHEST = 4
# A grid of which each side has so many ranks has one with neighbours on all sides.
_INNER_SIDE = 3
# Grids of more dimensions get no sentence before the program is known.
_USUAL_DIMENSIONS = 3


def further_sizes(sizes: Sequence[int], target: int | None = None) -> Iterator[int]:
    """Numbers of ranks like the recorded ones, below the target: from the largest recorded one on,
    then those between.

    They are powers of two, squares or cubes where all recorded ones are, and else multiples of what
    divides all of these.
    """
    most = _FARTHEST * max(sizes) if target is None else target - 1
    found = takewhile(lambda size: size <= most, map(_kind(sizes), count(1)))
    new = [size for size in found if size > min(sizes) and size not in sizes]
    yield from (size for size in new if size > max(sizes))
    yield from (size for size in reversed(new) if size < max(sizes))


def _kind(sizes: Sequence[int]) -> Callable[[int], int]:
    """The kinds of numbers that the sizes are, by their place."""
    for kind in (lambda n: 1 << n, lambda n: n**2, lambda n: n**3):
        if all(_is_of(kind, size) for size in sizes):
            return kind
    return partial(mul, math.gcd(*sizes))


def _is_of(kind: Callable[[int], int], size: int) -> bool:
    return size in takewhile(lambda made: made <= size, map(kind, count()))


def decisive_size(
    sizes: Sequence[int], target: int, explanations: Sequence[Callable[[int], object]]
) -> int | None:
    """A number of ranks where all explanations give a value, and no two the same."""
    for size in further_sizes(sizes, target):
        values = [explanation(size) for explanation in explanations]
        if None not in values and len(set(values)) == len(values):
            return size
    return None


def such_as(size: int | None) -> str:
    """The example in a message, if there is one."""
    return "" if size is None else f", such as {size:,} ranks"


def too_small(sizes: Sequence[int], target: int, dimensions: int) -> str:
    """Sizes to record where a grid has sizes without a rank that has neighbours on all sides.

    Empty if there are none, or the target is too small for others.
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


def undecided_grids(sizes: Sequence[int], target: int) -> list[str]:
    """Questions that the recorded sizes leave open for any program on a grid.

    That they are too small, or grids that only differ at the target; sentences.
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
            size = decisive_size(sizes, target, [one.sides, other.sides])
            said.append(
                f"these sizes do not tell {one.name} from {other.name}, which differ at "
                f"{target:,} ranks; if the program has such a grid, record a size that does"
                f"{such_as(size)}"
            )
    return said
