"""Which points of the space of parameters a sweep visits: a grid, a list, a random sample."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from tisim.errors import InputError
from tisim.studies.sweep.axes import Axis, Choice, Range

#: A scenario's parameters: what differs from the baseline.
Point = dict[Axis, Choice]
#: The values of each axis.
Space = dict[Axis, tuple[Choice, ...] | Range]

# Tells the random numbers of the design from those of the scenarios.
_STREAM = 0x5A3D


def parse_points(
    vary: Mapping[str, object] | Sequence[Mapping[str, object]] | None,
    sample: int | None,
    seed: int,
) -> tuple[list[Axis], list[Point]]:
    """The axes and the points that a user describes.

    Parameters
    ----------
    vary
        Values by axis: all their combinations. A sequence of mappings: these points.
    sample
        How many points to draw at random from what `vary` describes; None: all of them.
    seed
        Of the sample.

    Raises
    ------
    InputError
        If an axis does not exist, has no values or stands there twice, or if a range is to be
        combined without a sample.
    """
    if sample is not None and sample < 1:
        raise InputError(f"a sample has at least 1 scenario, not {sample}")
    if vary is None or isinstance(vary, Mapping):
        space = _space(vary or {})
        if sample is not None:
            return list(space), random_sample(space, sample, seed)
        return list(space), full_grid(space)
    if isinstance(vary, str) or not all(isinstance(point, Mapping) for point in vary):
        raise InputError("vary is a mapping (values by axis) or a list of mappings (points)")
    points = [_point(mapping) for mapping in vary]
    if not points:
        raise InputError("the list of points is empty; give at least one")
    if sample is not None:
        raise InputError("a sample is drawn from values by axis, not from a list of points")
    return list(dict.fromkeys(axis for point in points for axis in point)), points


def full_grid(space: Space) -> list[Point]:
    """All combinations, the last axis varying fastest."""
    listed: list[tuple[Choice, ...]] = []
    for axis, values in space.items():
        if isinstance(values, Range):
            raise InputError(
                f"{axis.name} has a range of values: say how many scenarios to draw (sample=100), "
                "or list values"
            )
        listed.append(values)
    return [dict(zip(space, values, strict=True)) for values in itertools.product(*listed)]


def random_sample(space: Space, count: int, seed: int) -> list[Point]:
    """Points drawn at random, no two the same; a longer sample begins with a shorter one.

    If there are no more combinations than `count`, they are the full grid.
    """
    import numpy as np

    sizes = [len(values) for values in space.values() if not isinstance(values, Range)]
    finite = len(sizes) == len(space)
    if finite and math.prod(sizes) <= count:
        return full_grid(space)
    random = np.random.default_rng([seed, _STREAM])
    seen: set[tuple[float, ...]] = set()
    points: list[Point] = []
    while len(points) < count:
        # One row of numbers a point: the next points do not depend on how many there will be.
        drawn = random.random(len(space)).tolist()
        point: Point = {}
        place: list[float] = []
        for (axis, values), fraction in zip(space.items(), drawn, strict=True):
            if isinstance(values, Range):
                value = values.at(fraction)
                point[axis] = Choice(value, value)
                place.append(value)
            else:
                index = int(fraction * len(values))
                point[axis] = values[index]
                place.append(index)
        if tuple(place) not in seen:
            seen.add(tuple(place))
            points.append(point)
    return points


def _space(vary: Mapping[str, object]) -> Space:
    space: Space = {}
    for name, values in vary.items():
        axis = _new_axis(name, space)
        space[axis] = axis.choices(values)
    return space


def _point(mapping: Mapping[str, object]) -> Point:
    point: Point = {}
    for name, value in mapping.items():
        axis = _new_axis(name, point)
        point[axis] = axis.choice(value)
    return point


def _new_axis(name: str, known: Mapping[Axis, object]) -> Axis:
    axis = Axis.parse(name)
    for other in known:
        if other == axis:
            raise InputError(f"{name!r} and {other.name!r} are the same thing to vary")
    return axis
