"""What a number may depend on where it differs from rank to rank."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from tisim.traces.extrapolation.grids import Place, Ranks
from tisim.traces.extrapolation.guards import Condition, Scene, known_conditions

# Constants in sums of places, before the rest is taken.
_NEAR = (0, 1, -1, 2, -2)
# Places are added up in grids of so many dimensions; sums of more are too many to try.
_MOST_IN_SUM = 2
# Ranks that share a node, or another group of a constant size.
_NODE_WIDTHS = (2, 4, 8)


@dataclass(frozen=True)
class Feature:
    """A number of each rank, in a stage or outside of stages.

    Attributes
    ----------
    text
        What it is.
    values
        The number of each rank.
    """

    text: str
    values: Callable[[Scene], Ranks]


def plain_features(place: Place, staged: bool) -> list[Feature]:
    """The rank, its node, its place in the grid, the stage, and sums of these modulo a side.

    Parameters
    ----------
    place
        Any number of ranks, for its last grid.
    staged
        Whether there are stages.
    """
    made = [Feature("rank", lambda scene: scene.place.all)]
    for width in _NODE_WIDTHS:
        made += [_div(width), _mod(width)]
    if staged:
        made += [
            Feature("stage", lambda scene: _everywhere(scene, scene.stage or 0)),
            Feature("2^stage", lambda scene: _everywhere(scene, 1 << (scene.stage or 0))),
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


def edge_features(place: Place, staged: bool) -> list[Feature]:
    """Whether such a sum modulo a side is the first or the last number that it can be."""
    return [
        _is_edge(_sum(steps, stage, constant, steps[0][0]), steps[0][0])
        for steps, stage in _directions(place, staged)
        # Counted from the other end, the first and the last are the same ones.
        if steps[0][1] > 0
        for constant in _NEAR
    ]


def indicators(place: Place, staged: bool) -> list[Feature]:
    """The conditions of guards: 1 where they hold, else 0."""
    return [_indicator(condition) for condition in known_conditions(place, staged)]


def _directions(place: Place, staged: bool) -> Iterator[tuple[tuple[tuple[int, int], ...], int]]:
    """Signs of the places in the grid, and of the stage: ((axis, sign), ...), sign of the stage."""
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
    """A sum of places, the stage and a constant, modulo the side of an axis where it is given."""

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
