"""Scales: from values to places on paper, and round values to write beside an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# A scale is logarithmic if its values span more than this factor.
_LOGARITHMIC = 12.0
_TICKS = 5


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from `low` to `high` as places from `begin` to `end`."""

    low: float
    high: float
    begin: float
    end: float
    logarithmic: bool = False

    @classmethod
    def over(
        cls, values: Sequence[float], begin: float, end: float, *, zero: bool = False
    ) -> Scale:
        """A scale with room for all values; from 0 if `zero`, which makes it linear."""
        low, high = min(values), max(values)
        logarithmic = not zero and low > 0 and high > _LOGARITHMIC * low
        if zero:
            low, high = min(low, 0.0), max(high, 0.0)
        if low == high:
            low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
            logarithmic = False
        return cls(low, high, begin, end, logarithmic)

    def place(self, value: float) -> float:
        """Where a value is."""
        low, high, at = self.low, self.high, value
        if self.logarithmic:
            low, high, at = math.log(low), math.log(high), math.log(value)
        return self.begin + (at - low) / (high - low) * (self.end - self.begin)

    def ticks(self) -> list[float]:
        """Round values, a handful."""
        if self.logarithmic:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            decades = [10.0**power for power in range(first, last + 1)]
            found = [one for one in decades if self.low <= one <= self.high]
            if len(found) >= 3:
                return found
            finer = [one * digit for one in decades for digit in (1, 2, 5)]
            return [one for one in finer if self.low <= one <= self.high]
        rough = (self.high - self.low) / _TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * digit for digit in (1, 2, 5, 10) if power * digit >= rough)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]
