"""Parts of SVG charts: elements, colours, and scales from values to places."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

#: Okabe and Ito's colours, which colour-blind readers tell apart.
HUES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8A6D00", "#56B4E9", "#7A3B00", "#555599")


def picture(width: float, height: float, parts: Iterable[str], label: str) -> str:
    """An SVG element with these parts."""
    return (
        f'<svg class="plot" role="img" aria-label="{escape(label)}" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">\n'
        + "\n".join(parts)
        + "\n</svg>"
    )


def text(x: float, y: float, words: str, *, anchor: str = "start", faint: bool = False) -> str:
    """A line of text."""
    look = ' class="faint"' if faint else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{look}>{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, look: str = 'class="axis"') -> str:
    """A straight line; `look` are attributes."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {look}/>'


def titled(element: str, title: str) -> str:
    """An element that ends with ``/>``, with a tooltip."""
    tag = element[1:].split(" ", 1)[0]
    return f"{element.removesuffix('/>')}><title>{escape(title)}</title></{tag}>"


def blend(ramp: Sequence[tuple[int, int, int]], part: float) -> tuple[int, int, int]:
    """The colour (red, green, blue) at a part, 0 to 1, of the way along a ramp."""
    at = min(part, 1.0) * (len(ramp) - 1)
    first = min(int(at), len(ramp) - 2)
    weight = at - first
    red, green, blue = (
        round(a + weight * (b - a)) for a, b in zip(ramp[first], ramp[first + 1], strict=True)
    )
    return red, green, blue


def shorten(words: str, most: int) -> str:
    """A text cut to `most` characters."""
    return words if len(words) <= most else words[: most - 3] + "..."


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
        """The place of a value."""
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
