"""How a rank that a call names follows from the rank that makes it.

A *form* is a formula that is the same for all numbers of ranks. Each call of each class has the
set of forms that give its numbers; calls are the same one only if they have a form in common.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from tisim.traces.extrapolation.grids import Place, Ranks

# Distances in a grid, or from the last rank, that count as neighbours.
_NEAR = 2


class PeerForm(NamedTuple):  # in sets, which compare tuples quickly
    """A formula for a rank.

    Attributes
    ----------
    kind
        What is computed, see `values`.
    constants
        The numbers in it.
    """

    kind: str
    constants: tuple[int, ...]

    def values(self, place: Place, ranks: Ranks) -> Ranks:
        """What the formula gives for these ranks."""
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
        """The formula as text."""
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
    # Numbers below 2^53 are exact as floating-point ones, whose exponent this is.
    bits = np.frexp(ranks)[1].astype(np.int64) - 1
    return np.where(ranks > 0, np.int64(1) << np.maximum(bits, 0), 0)


def peer_forms(place: Place, ranks: Ranks, values: Ranks) -> frozenset[PeerForm]:
    """All formulas that give these values for these ranks."""
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
