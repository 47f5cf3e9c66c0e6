"""Axes of a sweep, and the points that it visits: a grid, a list, a random sample."""

from __future__ import annotations

import difflib
import itertools
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tisim.config.table import PARAMETERS, canonical
from tisim.errors import InputError
from tisim.platform.scaling import SCALED, change_value, factor_of, factor_text
from tisim.traces.trace import NO_NOISE

#: Quantities of the platform that an axis changes, and the kind of names its pattern matches.
QUANTITIES = {
    "speed": "hosts",
    "cores": "hosts",
    "speed_noise": "hosts",
    "bandwidth": "links",
    "latency": "links",
    "sharing": "links",
    "bandwidth_noise": "links",
}
#: Axis of the random variability of compute volumes.
COMPUTE_NOISE = "compute_noise"
#: Axes whose values are whole inputs.
INPUTS = ("trace", "platform", "mapping")
_T = TypeVar("_T")
_WITH_PATTERN = re.compile(r"(\w+)\[(.+)\]", re.DOTALL)
_RANGES = ("uniform", "log_uniform")


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One value of an axis."""

    label: object  # shown in tables
    value: object  # the value itself


@dataclass(frozen=True, slots=True)
class Range:
    """Values between two numbers, for random samples."""

    # low, high: the bounds
    low: float
    high: float
    # True if the logarithm of the values is uniformly distributed.
    logarithmic: bool = False
    # Form of a change by the drawn amount: ``"x"`` for a factor, else the unit.
    unit: str | None = None

    def at(self, fraction: float) -> float:
        """Return the value at a fraction (0 to 1) of the range."""
        if self.logarithmic:
            return self.low * math.exp(fraction * math.log(self.high / self.low))
        return self.low + (self.high - self.low) * fraction

    def choice(self, fraction: float) -> Choice:
        """Return the value at a fraction as a value of an axis."""
        number = self.at(fraction)
        if self.unit is None:
            return Choice(number, number)
        text = factor_text(number) if self.unit == "x" else f"{number!r}{self.unit}"
        return Choice(text, text)


@dataclass(frozen=True, slots=True)
class Axis:
    """A property that varies between the scenarios of a sweep; equal under any of its names."""

    name: str = field(compare=False)  # as written by the user; the name of its column
    kind: str  # one of `QUANTITIES` or `INPUTS`, `COMPUTE_NOISE`, or ``"config"``
    target: str = "*"  # the pattern of the names of hosts or links, or the option's canonical key

    @classmethod
    def parse(cls, name: str) -> Axis:
        """Return the axis of a name.

        Raises `InputError` if it does not exist; the message suggests similar names.
        """
        if name in INPUTS or name in QUANTITIES or name == COMPUTE_NOISE:
            return cls(name, name)
        match = _WITH_PATTERN.fullmatch(name)
        if match is not None and match[1] in QUANTITIES:
            return cls(name, match[1], match[2])
        key = canonical(name)
        if key is not None:
            return cls(name, "config", key)
        raise InputError(f"nothing to vary is called {name!r}{_similar(name)}")

    def choices(self, values: object) -> tuple[Choice, ...] | Range:
        """Return the values of this axis, from the user's input.

        The input is one value, a sequence of values, values by label, or
        ``{"uniform": (low, high)}`` or ``{"log_uniform": (low, high)}``.
        """
        if isinstance(values, Mapping):
            if len(values) == 1 and next(iter(values)) in _RANGES:
                ((form, ends),) = values.items()
                return self._range(form, ends)
            found = tuple(
                Choice(_plain(label), self.choice(value).value) for label, value in values.items()
            )
        else:
            found = tuple(self.choice(value) for value in _listed(values, self.kind))
        if not found:
            raise InputError(f"{self.name} has no values to vary over; give at least one")
        return found

    def choice(self, value: object) -> Choice:
        """Return one value of this axis, with its label in tables.

        Raises `InputError` if a table cannot show it.
        """
        if isinstance(value, Choice):
            return value
        plain = _plain(value)
        if self.kind in SCALED:
            text = change_value(plain, self.kind)
            return Choice(text, text)
        if isinstance(plain, bool | int | float | str):
            return Choice(plain, plain)
        if isinstance(plain, os.PathLike):
            return Choice(os.fspath(plain), plain)
        if self.kind == "config":
            return Choice(str(plain), plain)
        if self.kind in INPUTS:
            return Choice(_label(plain), plain)
        raise InputError(f"{self.name} cannot be {plain!r}; it must be a number or a text")

    def _range(self, form: str, ends: object) -> Range:
        problem = f"{self.name}: {form} needs two numbers, the lower one first, not {ends!r}"
        if not isinstance(ends, Sequence) or isinstance(ends, str) or len(ends) != 2:
            raise InputError(problem)
        low, high = (_plain(end) for end in ends)
        unit = None
        if self.kind in SCALED:
            low, high, unit = self._scaled_ends(low, high)
        if not (isinstance(low, int | float) and isinstance(high, int | float)):
            raise InputError(problem)
        if not (math.isfinite(low) and math.isfinite(high)):
            raise InputError(problem)
        if low >= high or (form == "log_uniform" and low <= 0):
            raise InputError(problem + (" (both above zero)" if form == "log_uniform" else ""))
        if self.kind in ("cores", "sharing", *INPUTS):
            raise InputError(f"{self.name} cannot be drawn from a range; list its values")
        return Range(float(low), float(high), form == "log_uniform", unit)

    def _scaled_ends(self, low: object, high: object) -> tuple[float, float, str]:
        """Return both ends as numbers, and their unit."""
        parse, unit, _ = SCALED[self.kind]
        texts = [change_value(end, self.kind) for end in (low, high)]
        factors = [factor_of(text) for text in texts]
        if factors[0] is not None and factors[1] is not None:
            return factors[0], factors[1], "x"
        if factors != [None, None]:
            raise InputError(f"{self.name}: both ends of a range must be factors, or both values")
        return parse(texts[0], self.kind), parse(texts[1], self.kind), unit


def _listed(values: object, kind: str) -> Iterable[object]:
    if isinstance(values, str | os.PathLike | bool | int | float):
        return [values]
    from tisim.platform.deployment import Deployment
    from tisim.traces import Trace

    # A trace and a deployment are iterable, but single inputs.
    is_input = kind in INPUTS and isinstance(values, Trace | Deployment)
    return list(values) if isinstance(values, Iterable) and not is_input else [values]


def _plain(value: object) -> object:
    """Return a Python number for a numpy number."""
    item = getattr(value, "item", None)
    return item() if item is not None and getattr(value, "ndim", None) == 0 else value


def _label(value: object) -> str:
    if isinstance(value, Sequence) and all(isinstance(entry, str | os.PathLike) for entry in value):
        return ",".join(os.fspath(entry) for entry in value)
    name = getattr(value, "file", None) or getattr(value, "name", None)
    variation, seed = getattr(value, "noise", NO_NOISE)
    noise = f" with {variation:.12g} of noise, seed {seed}" if variation > 0 else ""
    return f"{name}{noise}" if name else repr(value)


def _similar(name: str) -> str:
    word = name.partition("[")[0]
    options = [key for key, option in PARAMETERS.items() if option.used]
    known = [*INPUTS, *QUANTITIES, COMPUTE_NOISE, *options]
    close = difflib.get_close_matches(word.replace("_", "-"), known, n=3, cutoff=0.6)
    close = close or difflib.get_close_matches(word, known, n=3, cutoff=0.5)
    if close:
        return f"; did you mean {' or '.join(close)}?"
    return (
        f"; axes are {', '.join(INPUTS)}, {COMPUTE_NOISE}, {', '.join(QUANTITIES)} (for some hosts "
        "or links: bandwidth[PATTERN]) and any option, such as smpi/coll-selector"
    )


#: Parameters of a scenario: its differences from the baseline.
Point = dict[Axis, Choice]
#: The values of each axis.
Space = dict[Axis, tuple[Choice, ...] | Range]
# Separates the random numbers of the design from those of the scenarios.
_STREAM = 0x5A3D


def parse_points(
    vary: Mapping[str, object] | Sequence[Mapping[str, object]] | None,
    sample: int | None,
    seed: int,
) -> tuple[list[Axis], list[Point]]:
    """Return the axes and the points of the user's description.

    `vary` contains values by axis, of which all combinations are taken, or is a list of points.
    `sample` is the number of random points; None: all points. Raises `InputError` if an axis does
    not exist, has no values or is given twice, or if a range is to be combined without a sample.
    """
    if sample is not None and sample < 1:
        raise InputError(f"sample must be at least 1, not {sample}")
    if vary is None or isinstance(vary, Mapping):
        space = _by_axis(vary or {}, Axis.choices)
        if sample is not None:
            return list(space), random_sample(space, sample, seed)
        return list(space), full_grid(space)
    if isinstance(vary, str) or not all(isinstance(point, Mapping) for point in vary):
        raise InputError("vary must be a mapping (values by axis) or a list of mappings (points)")
    points = [_by_axis(mapping, Axis.choice) for mapping in vary]
    if not points:
        raise InputError("the list of points is empty; give at least one")
    if sample is not None:
        raise InputError("sample needs values by axis, not a list of points")
    return list(dict.fromkeys(axis for point in points for axis in point)), points


def full_grid(space: Space) -> list[Point]:
    """Return all combinations; the last axis varies fastest."""
    listed: list[tuple[Choice, ...]] = []
    for axis, values in space.items():
        if isinstance(values, Range):
            raise InputError(
                f"{axis.name} has a range of values: give the number of scenarios to draw "
                "(sample=100), or list values"
            )
        listed.append(values)
    return [dict(zip(space, values, strict=True)) for values in itertools.product(*listed)]


def random_sample(space: Space, count: int, seed: int) -> list[Point]:
    """Return distinct random points; a longer sample begins with a shorter one.

    If there are at most `count` combinations, the result is the full grid.
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
        # One row of numbers per point, so that points do not depend on the size of the sample.
        drawn = random.random(len(space)).tolist()
        point: Point = {}
        place: list[float] = []
        for (axis, values), fraction in zip(space.items(), drawn, strict=True):
            if isinstance(values, Range):
                point[axis] = values.choice(fraction)
                place.append(values.at(fraction))
            else:
                index = int(fraction * len(values))
                point[axis] = values[index]
                place.append(index)
        if tuple(place) not in seen:
            seen.add(tuple(place))
            points.append(point)
    return points


def _by_axis(values: Mapping[str, object], read: Callable[[Axis, object], _T]) -> dict[Axis, _T]:
    """Return the parsed values, by the axes of their names."""
    found: dict[Axis, _T] = {}
    for name, value in values.items():
        axis = Axis.parse(name)
        for other in found:
            if other == axis:
                raise InputError(f"{name!r} and {other.name!r} are the same axis")
        found[axis] = read(axis, value)
    return found
