"""The quantities that a number may depend on if it differs from rank to rank."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from tisim.traces.extrapolation.grids import Place, Ranks
from tisim.traces.extrapolation.guards import Condition, Scene, known_conditions
from tisim.traces.extrapolation.nodes import Loop, Mask, MergedCall, Node
from tisim.traces.extrapolation.volumes import whole_volumes
from tisim.traces.packed_program import VOLUME

# Constants in sums of coordinates, before the modulus.
_NEAR = (0, 1, -1, 2, -2)
# Maximum grid dimensions for sums of coordinates; larger sums are too many to try.
_MOST_IN_SUM = 2
# Numbers of ranks that share a node or another group of constant size.
_NODE_WIDTHS = (2, 4, 8)


@dataclass(frozen=True)
class Feature:
    """A number of each rank, inside or outside stages."""

    text: str
    values: Callable[[Scene], Ranks]


def plain_features(place: Place, staged: bool) -> list[Feature]:
    """Return the rank, its node, its coordinates, the stage, and their sums modulo a side."""
    made = [Feature("rank", lambda scene: scene.place.all)]
    for width in _NODE_WIDTHS:
        made += [_div(width), _mod(width)]
    if staged:
        made += [
            Feature("stage", lambda scene: _everywhere(scene, scene.stage or 0)),
            Feature("2^stage", lambda scene: _everywhere(scene, 1 << min(scene.stage or 0, 40))),
        ]
    axes = len(place.sides(len(place.grids) - 1))
    made += [_sum(((axis, 1),), 0, 0, None) for axis in range(axes) if axes > 1]
    for steps, stage in _directions(place, staged):
        modulo = steps[0][0]
        for constant in _NEAR:
            # A place itself is below its side.
            if constant or stage or len(steps) > 1 or steps[0][1] < 0:
                made.append(_sum(steps, stage, constant, modulo))
    return made


def group_features(traces: Sequence[Ranks]) -> list[Feature]:
    """Return groups of consecutive ranks, from the numbers of all ranks in each trace: groups of
    equal width if two traces agree on it, or an equal number of groups in all traces.
    """
    starts = [np.flatnonzero(np.diff(values)) + 1 for values in traces]
    widths = [int(of[0]) for of in starts if of.size]
    counts = {len(of) + 1 for of in starts}
    made = [_div(widths[0])] if len(widths) > 1 and len({*widths}) == 1 else []
    if len(counts) == 1 and counts != {1}:
        made.append(_group(*counts))
    return made


def _group(count: int) -> Feature:
    return Feature(
        f"floor({count} rank / P)", lambda scene: scene.place.all * count // scene.place.ranks
    )


def edge_features(place: Place, staged: bool) -> list[Feature]:
    """Return indicators that such a sum modulo a side is its smallest or largest value."""
    return [
        _is_edge(_sum(steps, stage, constant, steps[0][0]), steps[0][0])
        for steps, stage in _directions(place, staged)
        # Counted from the other end, the first and the last are the same.
        if steps[0][1] > 0
        for constant in _NEAR
    ]


def indicators(place: Place, staged: bool) -> list[Feature]:
    """Return the conditions of guards as features: 1 where they hold, else 0."""
    return [_indicator(condition) for condition in known_conditions(place, staged)]


def _directions(place: Place, staged: bool) -> Iterator[tuple[tuple[tuple[int, int], ...], int]]:
    """Yield signs of the coordinates and of the stage: ((axis, sign), ...), sign of the stage."""
    sides = place.sides(len(place.grids) - 1)
    for signs in product((0, 1, -1), repeat=len(sides)):
        steps = tuple((axis, sign) for axis, sign in enumerate(signs) if sign)
        if not steps or (len(steps) > 1 and (len(set(sides)) > 1 or len(sides) > _MOST_IN_SUM)):
            continue
        for stage in (0, 1, -1) if staged else (0,):
            yield steps, stage


def _everywhere(scene: Scene, number: int) -> Ranks:
    return np.full(scene.place.ranks, number, dtype=np.int64)


def _div(width: int) -> Feature:
    return Feature(f"floor(rank / {width})", lambda scene: scene.place.all // width)


def _mod(width: int) -> Feature:
    return Feature(f"(rank mod {width})", lambda scene: scene.place.all % width)


def _sum(
    steps: tuple[tuple[int, int], ...], stage: int, constant: int, modulo: int | None
) -> Feature:
    """A sum of coordinates, the stage and a constant, modulo the side of an axis if given."""

    def values(scene: Scene) -> Ranks:
        grid = len(scene.place.grids) - 1
        axes = scene.place.coordinates(grid)
        total = _everywhere(scene, constant + stage * (scene.stage or 0))
        for axis, sign in steps:
            total += sign * axes[axis]
        return total if modulo is None else total % scene.place.sides(grid)[modulo]

    parts = [f"{'-' if sign < 0 else '+'} place {axis + 1}" for axis, sign in steps]
    parts += [f"{'-' if stage < 0 else '+'} stage"] if stage else []
    parts += [f"{'-' if constant < 0 else '+'} {abs(constant)}"] if constant else []
    text = " ".join(parts).removeprefix("+ ")
    return Feature(text if modulo is None else f"(({text}) mod side {modulo + 1})", values)


def _is_edge(feature: Feature, axis: int) -> Feature:
    def values(scene: Scene) -> Ranks:
        last = scene.place.sides(len(scene.place.grids) - 1)[axis] - 1
        found = feature.values(scene)
        return np.asarray((found == 0) | (found == last), dtype=np.int64)

    return Feature(f"[{feature.text} is the first or last]", values)


def _indicator(condition: Condition) -> Feature:
    return Feature(f"[{condition.text}]", lambda scene: condition.holds(scene).astype(np.int64))


# With n points, each place has floor(n / side), and the first n mod side places have one more. A
# program that distributes a grid of points this way reveals n where its numbers fall by one share
# from one place to the next.

# Number of sizes that must give the same n: two determine it.
_FEWEST_SIZES = 3
# Programs distribute few different numbers of points, such as those of a box's three directions.
_MOST_COUNTS = 4


@dataclass(frozen=True)
class _Fall:
    """A decrease of the numbers along an axis."""

    side: int
    first: int  # the first place with the smaller share: n mod side
    ratio: int  # smaller number / decrease: the smaller share, up to a constant


def find_distributed_points(nodes: Sequence[Node], places: Sequence[Place]) -> tuple[int, ...]:
    """Infer from the numbers of its calls how many points the program distributes over its axes."""
    axes = len(places[-1].coordinates(len(places[-1].grids) - 1))
    found: dict[int, None] = {}
    for site in _sites(nodes):
        for hole in sorted(site.varying):
            numbers = _numbers(site, hole)
            for axis in range(axes):
                count = _count(places, site.present, numbers, axis) if numbers else None
                if count is not None:
                    found.setdefault(count)
    return tuple(found)[:_MOST_COUNTS]


def share_features(place: Place, counts: Collection[int]) -> list[Feature]:
    """Return the shares along the axes, with or without the end points, and their products."""
    axes = len(place.sides(len(place.grids) - 1))
    shares = [
        [None, *(_share(axis, count, inner) for count in counts for inner in (False, True))]
        for axis in range(axes)
    ]
    made = []
    for factors in product(*shares):
        chosen = [factor for factor in factors if factor is not None]
        if chosen:
            made.append(_product(chosen))
    return sorted(made, key=lambda feature: feature.text.count("points"))


def _numbers(site: MergedCall, hole: int) -> list[Ranks]:
    """Return each trace's values in a hole; empty if one is a volume that is not a whole number."""
    seen = [of[hole] for of in site.numbers]
    if site.shape.marks[hole] != VOLUME:
        return seen
    volumes = [whole_volumes(codes) for codes in seen]
    known = [of for of in volumes if of is not None]
    return known if len(known) == len(seen) else []


def _sites(nodes: Sequence[Node]) -> Iterator[MergedCall]:
    for node in nodes:
        if isinstance(node, Loop):
            yield from _sites(node.body)
        elif isinstance(node, MergedCall):
            yield node


def _count(
    places: Sequence[Place], present: Sequence[Mask], numbers: Sequence[Ranks], axis: int
) -> int | None:
    """Return the points distributed over an axis; None if the numbers are not such shares."""
    falls: dict[int, _Fall] = {}
    even: set[int] = set()
    for place, mask, values in zip(places, present, numbers, strict=True):
        side = place.sides(len(place.grids) - 1)[axis]
        along = _along(place, mask, values, axis)
        if not along:
            continue
        if len({value for _, value in along}) == 1:
            even.add(side)
            continue
        fall = _fall(side, along)
        if fall is None or falls.setdefault(side, fall) != fall:
            return None
    if len(falls) < 2 or len(falls.keys() | even) < _FEWEST_SIZES:
        return None
    one, other = list(falls.values())[:2]
    # n = side q + first at both, and the q differ by the difference of the ratios.
    quotient = Fraction(
        other.first - one.first - one.side * (one.ratio - other.ratio), one.side - other.side
    )
    count = other.side * quotient + other.first
    if count.denominator != 1 or count < 1:
        return None
    rest = {fall.ratio - int(count) // fall.side for fall in falls.values()}
    is_same = len(rest) == 1 and all(int(count) % f.side == f.first for f in falls.values())
    # If only the first or the last place has another share, the inner places are equal.
    is_even = all(int(count) % side in (0, 1, side - 1) for side in even)
    return int(count) if is_same and is_even else None


def _along(place: Place, mask: Mask, values: Ranks, axis: int) -> list[tuple[int, int]]:
    """Return the inner places of an axis and the numbers there, for one line of ranks."""
    coordinates = place.coordinates(len(place.grids) - 1)
    side = place.sides(len(place.grids) - 1)[axis]
    ranks = np.flatnonzero(mask)
    if not len(ranks):
        return []
    middle = ranks[len(ranks) // 2]
    for other, of in enumerate(coordinates):
        if other != axis:
            ranks = ranks[of[ranks] == of[middle]]
    at = coordinates[axis][ranks]
    inside = (at > 0) & (at < side - 1)
    return list(zip(at[inside].tolist(), values[ranks[inside]].tolist(), strict=True))


def _fall(side: int, along: Sequence[tuple[int, int]]) -> _Fall | None:
    """Find a single decrease between two constant runs of numbers."""
    more, less = along[0][1], along[-1][1]
    first = next(place for place, value in along if value != more)
    fall = more - less
    if fall <= 0 or less % fall or any((v == less) != (p >= first) for p, v in along):
        return None
    return _Fall(side, first, less // fall)


def _share(axis: int, count: int, inner: bool) -> Feature:
    def values(scene: Scene) -> Ranks:
        grid = len(scene.place.grids) - 1
        side, at = scene.place.sides(grid)[axis], scene.place.coordinates(grid)[axis]
        share = count // side + (at < count % side)
        ends = (at == 0).astype(np.int64) + (at == side - 1)
        return np.asarray(share - ends if inner else share, dtype=np.int64)

    less = " but those at both ends" if inner else ""
    return Feature(f"({count} points{less}, dealt over side {axis + 1})", values)


def _product(factors: Sequence[Feature]) -> Feature:
    def values(scene: Scene) -> Ranks:
        made = np.ones(scene.place.ranks, dtype=np.int64)
        for factor in factors:
            made = made * factor.values(scene)
        return made

    return Feature(" * ".join(factor.text for factor in factors), values)
