"""How much each axis of a sweep matters, everything else being equal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

# An axis of a random sample needs so many scenarios for a fit.
_FITTED = 8
# Scenarios that differ in one axis only tell its effect if they are this part of all.
_MATCHED = 0.5


class Run(NamedTuple):
    """A scenario: its values by axis as texts (missing: as in the baseline), and its seconds."""

    values: Mapping[str, str]
    time: float


class Effect(NamedTuple):
    """What an axis does to the time.

    Attributes
    ----------
    axis
        Its name.
    low, high
        The least and the greatest time among its values, relative to their geometric mean, minus
        1: -0.2 is a fifth shorter.
    low_value, high_value
        The values with these times.
    fitted
        Whether it is from a fit to a random sample and not from scenarios that differ in this
        axis only.
    """

    axis: str
    low: float
    high: float
    low_value: str
    high_value: str
    fitted: bool = False


def effects(axes: Sequence[str], runs: Sequence[Run]) -> list[Effect]:
    """The effect of each axis that varies, the greatest first.

    Scenarios that are equal in all other axes are compared, and the geometric mean is taken over
    all such sets that have the same values of the axis. Where these are few of the scenarios, as
    in a random sample of ranges, the logarithm of the time is fitted by a linear function of all
    numeric axes, if there are enough scenarios.
    """
    matched = {axis: _matched(axis, axes, runs) for axis in axes}
    few = [axis for axis, (covered, _) in matched.items() if covered < _MATCHED * len(runs)]
    fitted = {one.axis: one for one in _fitted(few, axes, runs)}
    found = [fitted.get(axis, one) for axis, (_, one) in matched.items()]
    known = [one for one in found if one is not None]
    return sorted(known, key=lambda one: one.low - one.high)


def _matched(axis: str, axes: Sequence[str], runs: Sequence[Run]) -> tuple[int, Effect | None]:
    """The effect from scenarios that differ in this axis only, and how many they are."""
    contexts: dict[tuple[str, ...], dict[str, list[float]]] = {}
    for run in runs:
        others = tuple(run.values.get(other, "") for other in axes if other != axis)
        value = run.values.get(axis, "baseline")
        contexts.setdefault(others, {}).setdefault(value, []).append(math.log(run.time))
    # Sets with the same values as most sets have: others would shift the means.
    seen: dict[frozenset[str], list[dict[str, float]]] = {}
    for by_value in contexts.values():
        if len(by_value) > 1:
            means = {value: sum(logs) / len(logs) for value, logs in by_value.items()}
            seen.setdefault(frozenset(means), []).append(means)
    if not seen:
        return 0, None
    _, sets = max(seen.items(), key=lambda entry: (len(entry[1]) * len(entry[0]), sorted(entry[0])))
    mean = {value: sum(one[value] for one in sets) / len(sets) for value in sets[0]}
    middle = sum(mean.values()) / len(mean)
    low, high = min(mean, key=lambda value: mean[value]), max(mean, key=lambda value: mean[value])
    ends = math.expm1(mean[low] - middle), math.expm1(mean[high] - middle)
    return len(sets) * len(mean), Effect(axis, *ends, low, high)


def _fitted(left: Sequence[str], axes: Sequence[str], runs: Sequence[Run]) -> list[Effect]:
    import numpy as np

    columns: dict[str, list[float]] = {}
    for axis in axes:
        numbers = [_number(run.values.get(axis, "")) for run in runs]
        if len(set(numbers)) > 1 and all(math.isfinite(number) for number in numbers):
            columns[axis] = numbers
    wanted = [axis for axis in left if axis in columns]
    if not wanted or len(runs) < max(_FITTED, 2 * len(columns)):
        return []
    matrix = np.array([columns[axis] for axis in columns]).T
    # Factors act as factors: of positive numbers the logarithm is fitted.
    logarithmic = (matrix > 0).all(axis=0)
    matrix = np.where(logarithmic, np.log(np.where(matrix > 0, matrix, 1.0)), matrix)
    centred = matrix - matrix.mean(axis=0)
    logs = np.log([run.time for run in runs])
    slopes = np.linalg.lstsq(centred, logs - logs.mean(), rcond=None)[0]
    found = []
    for place, axis in enumerate(columns):
        if axis in wanted:
            ends = slopes[place] * np.array([centred[:, place].min(), centred[:, place].max()])
            texts = f"{min(columns[axis]):.4g}", f"{max(columns[axis]):.4g}"
            low, high = sorted(zip(ends.tolist(), texts, strict=True))
            found.append(
                Effect(axis, math.expm1(low[0]), math.expm1(high[0]), low[1], high[1], True)
            )
    return found


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
