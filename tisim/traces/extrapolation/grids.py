"""Process grids as functions of the number of ranks, and formulas for peers in them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tisim.traces.generate.pattern import process_grid

Ranks = NDArray[np.int64]
#: The sides of a grid for a number of ranks, fastest-running first; None if there is none.
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
    """A process grid defined for any number of ranks."""

    #: Its name in messages.
    name: str
    #: Its sides for a given number of ranks.
    sides: Sides
    #: True if one side is the same for all numbers of ranks.
    is_fixed: bool = False


def families(sizes: Sequence[int]) -> list[Grid]:
    """Return the candidate grids."""
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
                    is_fixed=True,
                )
                for at in range(dimensions + 1)
            ]
    return grids


def known_grids(sizes: Sequence[int], target: int) -> list[Grid]:
    """Return the grids that exist for these numbers of ranks, without duplicates.

    Grids with an axis along which no trace has two ranks are left out.
    """
    known: dict[tuple[tuple[int, ...], ...], Grid] = {}
    for grid in families([*sizes, target]):
        sides = [grid.sides(ranks) for ranks in (*sizes, target)]
        has_all = [side for side in sides if side is not None]
        if len(has_all) < len(sides):
            continue
        longest = [max(of_axis) for of_axis in zip(*has_all[:-1], strict=True)]
        if len(longest) == 1 or min(longest) > 1:
            known.setdefault(tuple(has_all), grid)
    return list(known.values())


class Place:
    """A number of ranks, and the coordinates of each rank in the grids."""

    def __init__(self, ranks: int, grids: Sequence[Grid]) -> None:
        self.ranks = ranks
        self.grids = grids
        self.all: Ranks = np.arange(ranks, dtype=np.int64)
        self._coordinates: dict[int, list[Ranks]] = {}

    def sides(self, grid: int) -> tuple[int, ...]:
        """Return the sides of one of the grids."""
        sides = self.grids[grid].sides(self.ranks)
        assert sides is not None
        return sides

    def coordinates(self, grid: int) -> list[Ranks]:
        """Return the coordinate of each rank, by dimension of a grid."""
        if grid not in self._coordinates:
            made, rest = [], self.all
            for side in self.sides(grid):
                made.append(rest % side)
                rest = rest // side
            self._coordinates[grid] = made
        return self._coordinates[grid]

    def distances(self, ranks: Ranks, others: Ranks) -> Ranks:
        """Return displacements to others in the last grid, as single numbers; negatives stay."""
        grid = len(self.grids) - 1
        known = np.clip(others, 0, self.ranks - 1)
        found = np.zeros(len(ranks), dtype=np.int64)
        for axis, side in zip(self.coordinates(grid), self.sides(grid), strict=True):
            found = found * side + (axis[known] - axis[ranks]) % side
        return np.where(others < 0, others, found)


# A *form* is a formula that is the same for all numbers of ranks. Each call of each class has the
# set of forms that give its numbers; two calls can only be the same if they share a form.

# Maximum distance of neighbours in a grid.
_NEAR = 2


class PeerForm(NamedTuple):  # in sets, which compare tuples quickly
    """A formula for the rank of a peer."""

    #: The computed quantity, see `values`.
    kind: str
    #: The constants in it.
    constants: tuple[int, ...]

    def values(self, place: Place, ranks: Ranks) -> Ranks:
        """Return the values of the formula for these ranks."""
        first = self.constants[0] if self.constants else 0
        if self.kind == "constant":
            return np.full(len(ranks), first, dtype=np.int64)
        if self.kind == "from the end":
            return np.full(len(ranks), place.ranks - first, dtype=np.int64)
        if self.kind == "plus":
            return ranks + first
        if self.kind == "around":
            return (ranks + first) % place.ranks
        if self.kind == "xor":
            return ranks ^ first
        if self.kind == "without the lowest bit":
            return ranks & (ranks - 1)
        if self.kind == "without the highest bit":
            return ranks - _highest_bit(ranks)
        if self.kind == "transposed":
            sides = place.sides(first)
            x, y = (axis[ranks] for axis in place.coordinates(first))
            return y + x * sides[0]
        return self._neighbours(place, ranks)

    def _neighbours(self, place: Place, ranks: Ranks) -> Ranks:
        grid, *steps = self.constants
        found = np.zeros(len(ranks), dtype=np.int64)
        stride = 1
        for axis, side, step in zip(place.coordinates(grid), place.sides(grid), steps, strict=True):
            found += (axis[ranks] + step) % side * stride
            stride *= side
        return found

    def shown(self, place: Place) -> str:
        """Format the formula."""
        if self.kind == "neighbour":
            grid, *steps = self.constants
            return f"neighbour ({', '.join(map(str, steps))}) in {place.grids[grid].name}"
        if self.kind == "transposed":
            return f"transposed in {place.grids[self.constants[0]].name}"
        numbers = " ".join(map(str, self.constants))
        return {
            "constant": f"rank {numbers}",
            "from the end": f"P - {numbers}",
            "plus": f"rank + {numbers}",
            "around": f"(rank + {numbers}) mod P",
            "xor": f"rank xor {numbers}",
        }.get(self.kind, f"rank {self.kind}")


def _highest_bit(ranks: Ranks) -> Ranks:
    # Numbers below 2^53 are exact in floating point; this is the exponent.
    bits = np.frexp(ranks)[1].astype(np.int64) - 1
    return np.where(ranks > 0, np.int64(1) << np.maximum(bits, 0), 0)


def peer_forms(place: Place, ranks: Ranks, values: Ranks) -> frozenset[PeerForm]:
    """Return all formulas that give these values for these ranks."""
    first = int(values[0])
    if (values < 0).any():
        alone = PeerForm("constant", (first,))
        return frozenset((alone,) if (values == first).all() else ())
    found: list[PeerForm] = []
    if (values == first).all():
        found += [PeerForm("constant", (first,)), PeerForm("from the end", (place.ranks - first,))]
    differences = values - ranks
    step = int(differences[0])
    if (differences == step).all():
        found.append(PeerForm("plus", (step,)))
    around = step % place.ranks
    if (differences % place.ranks == around).all():
        found += [PeerForm("around", (around,)), PeerForm("around", (around - place.ranks,))]
    bits = first ^ int(ranks[0])
    if (values ^ ranks == bits).all():
        found.append(PeerForm("xor", (bits,)))
    for kind in ("without the lowest bit", "without the highest bit"):
        form = PeerForm(kind, ())
        if ranks[0] > 0 and (form.values(place, ranks) == values).all():
            found.append(form)
    for grid in range(len(place.grids)):
        found += _grid_forms(place, grid, ranks, values)
    return frozenset(found)


def _grid_forms(place: Place, grid: int, ranks: Ranks, values: Ranks) -> list[PeerForm]:
    sides = place.sides(grid)
    if len(sides) == 1 or values.max() >= place.ranks:
        return []
    found: list[PeerForm] = []
    transposed = PeerForm("transposed", (grid,))
    is_square = len(sides) == 2 and sides[0] == sides[1]
    if is_square and (transposed.values(place, ranks) == values).all():
        found.append(transposed)
    steps: list[list[int]] = []
    for axis, side in zip(place.coordinates(grid), sides, strict=True):
        moved = (axis[values] - axis[ranks]) % side
        if (moved != moved[0]).any():
            return found
        steps.append([s for s in range(-_NEAR, _NEAR + 1) if s % side == moved[0]])
    found += [PeerForm("neighbour", (grid, *chosen)) for chosen in product(*steps)]
    return found
