"""Process grids as functions of the number of ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tisim.traces.generate.pattern import process_grid

Ranks = NDArray[np.int64]
#: The sides of a grid of so many ranks, the one that runs fastest first; None: there is none.
Sides = Callable[[int], tuple[int, ...] | None]

_MOST_FIXED_SIDE = 64


def _even(dimensions: int, reverse: bool, ranks: int) -> tuple[int, ...]:
    sides = process_grid(ranks, dimensions)
    return sides[::-1] if reverse else sides


def _powers_of_two(dimensions: int, reverse: bool, ranks: int) -> tuple[int, ...] | None:
    bits = ranks.bit_length() - 1
    if 1 << bits != ranks:
        return None
    sides = tuple(1 << (bits + dimensions - 1 - i) // dimensions for i in range(dimensions))
    return sides[::-1] if reverse else sides


def _fixed(side: int, rest: Sides, at: int, ranks: int) -> tuple[int, ...] | None:
    if ranks % side:
        return None
    others = rest(ranks // side)
    return None if others is None else (*others[:at], side, *others[at:])


@dataclass(frozen=True)
class Grid:
    """A process grid for any number of ranks.

    Attributes
    ----------
    name
        What messages call it.
    sides
        Its sides for a number of ranks.
    """

    name: str
    sides: Sides


def _families(sizes: Sequence[int]) -> list[Grid]:
    grids = [Grid("a line", lambda ranks: (ranks,))]
    for dimensions in (2, 3, 4):
        for reverse in (False, True):
            which = "last" if reverse else "first"
            grids += [
                Grid(
                    f"an even grid of {dimensions} dimensions, the longest {which}",
                    partial(_even, dimensions, reverse),
                ),
                Grid(
                    f"a grid of powers of two in {dimensions} dimensions, the longest {which}",
                    partial(_powers_of_two, dimensions, reverse),
                ),
            ]
    flexible = [grid for grid in grids if "powers" not in grid.name and "4" not in grid.name]
    common = math.gcd(*sizes)
    for side in range(2, min(common, _MOST_FIXED_SIDE) + 1):
        if common % side:
            continue
        for rest in flexible:
            dimensions = len(rest.sides(common) or ())
            grids += [
                Grid(
                    f"side {at + 1} of a grid of {dimensions + 1} fixed at {side}, "
                    f"the others {rest.name}",
                    partial(_fixed, side, rest.sides, at),
                )
                for at in range(dimensions + 1)
            ]
    return grids


def known_grids(sizes: Sequence[int], target: int) -> list[Grid]:
    """The grids that these numbers of ranks have, one of those that are equal for all of them.

    Traces say nothing of an axis along which none of them has two ranks.
    """
    known: dict[tuple[tuple[int, ...], ...], Grid] = {}
    for grid in _families([*sizes, target]):
        sides = [grid.sides(ranks) for ranks in (*sizes, target)]
        has_all = [side for side in sides if side is not None]
        if len(has_all) < len(sides):
            continue
        longest = [max(of_axis) for of_axis in zip(*has_all[:-1], strict=True)]
        if len(longest) == 1 or min(longest) > 1:
            known.setdefault(tuple(has_all), grid)
    return list(known.values())


class Place:
    """One number of ranks, and where each rank stands in the grids.

    Parameters
    ----------
    ranks
        How many ranks there are.
    grids
        The grids that are looked at.
    """

    def __init__(self, ranks: int, grids: Sequence[Grid]) -> None:
        self.ranks = ranks
        self.grids = grids
        self.all: Ranks = np.arange(ranks, dtype=np.int64)
        self._coordinates: dict[int, list[Ranks]] = {}

    def sides(self, grid: int) -> tuple[int, ...]:
        """The sides of one of the grids."""
        sides = self.grids[grid].sides(self.ranks)
        assert sides is not None
        return sides

    def coordinates(self, grid: int) -> list[Ranks]:
        """Of each dimension of a grid, where each rank stands."""
        if grid not in self._coordinates:
            made, rest = [], self.all
            for side in self.sides(grid):
                made.append(rest % side)
                rest = rest // side
            self._coordinates[grid] = made
        return self._coordinates[grid]

    def distances(self, ranks: Ranks, others: Ranks) -> Ranks:
        """How far others are in the last grid, as one number; negative ones are words."""
        grid = len(self.grids) - 1
        known = np.clip(others, 0, self.ranks - 1)
        found = np.zeros(len(ranks), dtype=np.int64)
        for axis, side in zip(self.coordinates(grid), self.sides(grid), strict=True):
            found = found * side + (axis[known] - axis[ranks]) % side
        return np.where(others < 0, others, found)
