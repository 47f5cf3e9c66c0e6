"""Conditions on a rank and its coordinates that decide which parts of a program it executes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from operator import and_

import numpy as np

from tisim.traces.extrapolation.grids import Place, Ranks
from tisim.traces.extrapolation.nodes import Mask

# Number of ranks or coordinates, from each end, that conditions compare with.
_FEW = 8
# Maximum number of conditions in a conjunction.
_MOST_CONDITIONS = 4


#: Compares two numbers, or each rank's number with one.
Comparison = Callable[..., Mask]
_COMPARISONS: dict[str, Comparison] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    ">": np.greater,
}


@dataclass(frozen=True)
class Scene:
    """A number of ranks, in one stage of a loop whose stages differ."""

    #: The number of ranks.
    place: Place
    #: The number of the stage, from 0; None outside such loops.
    stage: int | None = None


@dataclass(frozen=True)
class Condition:
    """A condition on a rank."""

    text: str
    holds: Callable[[Scene], Mask]


@dataclass(frozen=True)
class Guard:
    """A conjunction of conditions."""

    conditions: tuple[Condition, ...]

    @property
    def text(self) -> str:
        """The conditions as text."""
        return " and ".join(c.text for c in self.conditions) or "all ranks"

    def holds(self, scene: Scene) -> Mask:
        """Return the mask of ranks for which it holds."""
        mask = np.ones(scene.place.ranks, dtype=np.bool_)
        for condition in self.conditions:
            mask &= condition.holds(scene)
        return mask


def _compared(
    name: str, of: Callable[[Scene], Ranks], end: Callable[[Scene], int]
) -> Iterator[Condition]:
    """Yield conditions on a number of each rank, from 0 to below an end."""

    def against(compare: Comparison, number: int) -> Callable[[Scene], Mask]:
        return lambda scene: compare(of(scene), number)

    def from_end(compare: Comparison, number: int) -> Callable[[Scene], Mask]:
        return lambda scene: compare(of(scene), end(scene) - number)

    def ends(scene: Scene) -> Mask:
        return np.asarray((of(scene) == 0) | (of(scene) == end(scene) - 1))

    yield Condition(f"{name} is even", lambda s: np.equal(of(s) % 2, 0))
    yield Condition(f"{name} is odd", lambda s: np.equal(of(s) % 2, 1))
    yield Condition(f"{name} is in the lower half", lambda s: np.less(2 * of(s), end(s)))
    yield Condition(f"{name} is in the upper half", lambda s: np.greater_equal(2 * of(s), end(s)))
    yield Condition(f"{name} is the first or the last", ends)
    for c in range(_FEW):
        for sign, compare in _COMPARISONS.items():
            yield Condition(f"{name} {sign} {c}", against(compare, c))
            yield Condition(f"{name} {sign} end - {c + 1}", from_end(compare, c + 1))


def _stage(scene: Scene) -> int:
    assert scene.stage is not None
    return scene.stage


def _stage_conditions() -> list[Condition]:
    def distance(scene: Scene) -> int:
        return 1 << min(_stage(scene), 40)  # beyond all ranks

    def ranks(scene: Scene) -> Ranks:
        return scene.place.all

    return [
        Condition("rank + 2^stage < P", lambda s: ranks(s) + distance(s) < s.place.ranks),
        Condition("rank >= 2^stage", lambda s: ranks(s) >= distance(s)),
        Condition("rank < 2^stage", lambda s: ranks(s) < distance(s)),
        Condition("rank mod 2^stage = 0", lambda s: ranks(s) % distance(s) == 0),
        Condition("rank mod 2^(stage + 1) = 0", lambda s: ranks(s) % (2 * distance(s)) == 0),
        Condition("bit stage of rank is 0", lambda s: ranks(s) & distance(s) == 0),
        Condition("bit stage of rank is 1", lambda s: ranks(s) & distance(s) != 0),
        Condition("rank + stage + 1 < P", lambda s: ranks(s) + _stage(s) + 1 < s.place.ranks),
        Condition("rank > stage", lambda s: ranks(s) > _stage(s)),
    ]


def known_conditions(place: Place, staged: bool) -> list[Condition]:
    """Return the conditions that guards consist of."""
    made = [*_compared("rank", lambda s: s.place.all, lambda s: s.place.ranks)]
    for grid in range(len(place.grids)):
        made += _grid_conditions(place, grid)
    return made + (_stage_conditions() if staged else [])


def _grid_conditions(place: Place, grid: int) -> Iterator[Condition]:
    """Yield conditions on the coordinates in a grid; none for a line."""
    name, dimensions = place.grids[grid].name, len(place.sides(grid))

    def coordinate(axis: int) -> Callable[[Scene], Ranks]:
        return lambda scene: scene.place.coordinates(grid)[axis]

    def side(axis: int) -> Callable[[Scene], int]:
        return lambda scene: scene.place.sides(grid)[axis]

    def between(a: int, b: int, compare: Comparison) -> Callable[[Scene], Mask]:
        return lambda scene: compare(*(scene.place.coordinates(grid)[axis] for axis in (a, b)))

    if dimensions == 1:
        return
    for axis in range(dimensions):
        yield from _compared(f"place {axis + 1} in {name}", coordinate(axis), side(axis))
    for a, b in combinations(range(dimensions), 2):
        for sign, compare in _COMPARISONS.items():
            text = f"place {a + 1} {sign} place {b + 1} in {name}"
            yield Condition(text, between(a, b, compare))


class Evidence:
    """Finds the guards that explain the observed ranks, and their masks at the target."""

    def __init__(self, scenes: Sequence[Scene], targets: Sequence[Scene]) -> None:
        self._targets = targets
        staged = scenes[0].stage is not None
        conditions = known_conditions(scenes[0].place, staged)
        self._all = [(_bits([c.holds(scene) for scene in scenes]), c) for c in conditions]
        self._at_target: dict[str, bytes] = {}

    def guards(self, domain: Sequence[Mask], seen: Sequence[Mask]) -> Iterator[list[Guard]]:
        """Yield guards that hold for the ranks seen and no others of the domain: those with no
        condition, with one, with two and so on; one of each set that agrees at the target.
        """
        domain_bits, wanted = _bits(domain), _bits(seen)
        if domain_bits == wanted:
            yield [Guard(())]
        # Each condition of a conjunction holds wherever the conjunction does.
        able: dict[tuple[int, bytes], Condition] = {}
        for held, condition in self._all:
            if held & wanted == wanted and held & domain_bits != domain_bits:
                able.setdefault((held & domain_bits, self._on_targets(condition)), condition)
        yield [Guard((condition,)) for (held, _), condition in able.items() if held == wanted]
        rest = [(held, condition) for (held, _), condition in able.items() if held != wanted]
        for count in range(2, _MOST_CONDITIONS + 1):
            found = _conjunctions([held for held, _ in rest], domain_bits, wanted, count)
            yield [Guard(tuple(rest[number][1] for number in chosen)) for chosen in found]

    def _on_targets(self, condition: Condition) -> bytes:
        if condition.text not in self._at_target:
            masks = [condition.holds(scene) for scene in self._targets]
            self._at_target[condition.text] = np.packbits(np.concatenate(masks)).tobytes()
        return self._at_target[condition.text]


def _bits(masks: Sequence[Mask]) -> int:
    return int.from_bytes(np.packbits(np.concatenate(masks)).tobytes(), "big")


def _conjunctions(held: Sequence[int], domain: int, wanted: int, count: int) -> list[list[int]]:
    """Return the sets of `count` conditions that together hold for exactly the wanted ranks.

    No smaller set does, so each condition excludes ranks that none of the others excludes. `held`
    has for each condition the ranks of the domain for which it holds: all wanted ones, and
    others.
    """
    found: set[tuple[int, ...]] = set()

    def exclude(left: int, able: Sequence[int], chosen: tuple[int, ...]) -> None:
        """Add conditions that also exclude the remaining ranks."""
        if len(chosen) == count - 1:
            found.update(
                tuple(sorted((*chosen, number))) for number in able if not held[number] & left
            )
            return
        # One condition must exclude the first of these ranks, and one the last.
        ends = (left & -left, 1 << (left.bit_length() - 1))
        ways = [[number for number in able if not held[number] & end] for end in ends]
        for number in min(ways, key=len):
            rest = left & held[number]
            if rest:
                exclude(rest, able, (*chosen, number))

    others = domain & ~wanted
    if reduce(and_, held, others) == 0:
        exclude(others, range(len(held)), ())
    return [list(chosen) for chosen in sorted(found)]
