"""What repeated measurements say about a median."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

# How sure an interval is to hold the median of what was drawn from.
_CONFIDENCE = 0.95


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """An interval that holds the true median with a probability of 95 % at least.

    Its ends are values themselves: k of n values lie below the true median as often as k of n coins
    show heads. With fewer than six values no interval is that sure, and the smallest and the
    largest are its ends (94 % for five, 75 % for three).
    """
    ordered = sorted(values)
    count = len(ordered)
    skipped = 0
    while 2 * (skipped + 1) < count and _outside(count, skipped + 1) <= 1 - _CONFIDENCE:
        skipped += 1
    return ordered[skipped], ordered[count - 1 - skipped]


def _outside(count: int, skipped: int) -> float:
    """The probability that the median is not between the values with so many beyond each."""
    ways = sum(math.comb(count, k) for k in range(skipped + 1))
    return float(2 * ways / 2**count)


def quartile_distance(values: Sequence[float]) -> float:
    """The distance of the quartiles, as a part of the median."""
    if len(values) < 2:
        return 0.0
    lower, median, upper = statistics.quantiles(values, n=4, method="inclusive")
    return (upper - lower) / median if median > 0 else 0.0
