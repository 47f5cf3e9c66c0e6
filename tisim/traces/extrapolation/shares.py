"""Points that are dealt over the places of an axis, as equally as can be.

Of n points each place has floor(n / side), and the first n mod side places have one more. A program
that distributes a grid of points so shows n where its numbers fall by one share from one place to
the next.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from tisim.traces.extrapolation.features import Feature
from tisim.traces.extrapolation.grids import Place, Ranks
from tisim.traces.extrapolation.guards import Scene
from tisim.traces.extrapolation.nodes import Loop, Mask, Node, Site
from tisim.traces.extrapolation.volume_codes import whole_volumes
from tisim.traces.tit.shapes import VOLUME

# Sizes that must show the same n: two determine it.
_FEWEST_SIZES = 3
# Programs deal few kinds of points, such as those of the three directions of a box.
_MOST_COUNTS = 4


@dataclass(frozen=True)
class _Fall:
    """Where the numbers along an axis fall."""

    side: int
    first: int  # the first place with the smaller share: n mod side
    ratio: int  # the smaller number over the fall: the smaller share, but for a constant


def dealt_counts(nodes: Sequence[Node], places: Sequence[Place]) -> tuple[int, ...]:
    """How many points the program deals over its axes, as the numbers of its calls show.

    Parameters
    ----------
    nodes
        The merged program.
    places
        The numbers of ranks of the traces.
    """
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
    """Shares in the axes, those without the points at both ends of the axis, and their products.

    Parameters
    ----------
    place
        Any number of ranks, for its last grid.
    counts
        How many points are dealt.
    """
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


def _numbers(site: Site, hole: int) -> list[Ranks]:
    """What each trace has in a hole; none where it is a volume that is no whole number."""
    seen = [of[hole] for of in site.numbers]
    if site.shape.marks[hole] != VOLUME:
        return seen
    volumes = [whole_volumes(codes) for codes in seen]
    known = [of for of in volumes if of is not None]
    return known if len(known) == len(seen) else []


def _sites(nodes: Sequence[Node]) -> Iterator[Site]:
    for node in nodes:
        if isinstance(node, Loop):
            yield from _sites(node.body)
        elif isinstance(node, Site):
            yield node


def _count(
    places: Sequence[Place], present: Sequence[Mask], numbers: Sequence[Ranks], axis: int
) -> int | None:
    """The points that are dealt over an axis; None: the numbers are no such shares."""
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
    # n = side q + first at both, and the q differ as the ratios do.
    quotient = Fraction(
        other.first - one.first - one.side * (one.ratio - other.ratio), one.side - other.side
    )
    count = other.side * quotient + other.first
    if count.denominator != 1 or count < 1:
        return None
    rest = {fall.ratio - int(count) // fall.side for fall in falls.values()}
    is_same = len(rest) == 1 and all(int(count) % f.side == f.first for f in falls.values())
    # Where only the first or the last place has another share, no other places differ.
    is_even = all(int(count) % side in (0, 1, side - 1) for side in even)
    return int(count) if is_same and is_even else None


def _along(place: Place, mask: Mask, values: Ranks, axis: int) -> list[tuple[int, int]]:
    """Places between the ends of an axis, and the numbers there, of one line of ranks."""
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
    """Where numbers are smaller from one place on, and are equal before and behind."""
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
