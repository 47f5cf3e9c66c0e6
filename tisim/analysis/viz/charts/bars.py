"""Bars to the left and to the right of a line: what makes less, and what makes more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tisim.analysis.viz.charts.scale import Scale
from tisim.analysis.viz.charts.svg import line, picture, shorten, text, titled

_WIDTH, _ROW, _TOP = 720.0, 24.0, 12.0
_WIDEST = 30
_LESS, _MORE = "#0072B2", "#D55E00"


class Bar(NamedTuple):
    """One bar.

    Attributes
    ----------
    name
        What it is of.
    low, high
        Its ends; the one may be 0.
    low_name, high_name
        What is written at its ends.
    """

    name: str
    low: float
    high: float
    low_name: str = ""
    high_name: str = ""


def diverging_bars(bars: Sequence[Bar], *, label: str, show: Callable[[float], str]) -> str:
    """Draw bars around 0, one a row.

    Parameters
    ----------
    bars
        At least one.
    label
        What their lengths are, with the unit.
    show
        Writes a length.
    """
    left = 6.6 * max(len(shorten(bar.name, _WIDEST)) for bar in bars) + 16
    margin = 6.6 * max(len(_end(bar, show, high)) for bar in bars for high in (False, True)) + 10
    ends = [end for bar in bars for end in (bar.low, bar.high)]
    has_left = any(bar.low < 0 for bar in bars)
    begin = left + (margin if has_left else 0.0)
    scale = Scale.over(ends, begin, _WIDTH - margin, zero=True)
    zero = scale.place(0.0)
    bottom = _TOP + len(bars) * _ROW
    parts = [line(zero, _TOP - 4, zero, bottom)]
    for row, bar in enumerate(bars):
        y = _TOP + row * _ROW
        parts.append(text(left - 10, y + 16, shorten(bar.name, _WIDEST), anchor="end"))
        for end, high in ((bar.low, False), (bar.high, True)):
            if end == 0:
                continue
            x, width = min(zero, scale.place(end)), abs(scale.place(end) - zero)
            shape = (
                f'<rect x="{x:.1f}" y="{y + 3:.1f}" width="{max(width, 0.8):.1f}" height="17" '
                f'fill="{_MORE if end > 0 else _LESS}"/>'
            )
            parts.append(titled(shape, f"{bar.name} {_end(bar, show, high)}"))
            outside = (x + width + 5, "start") if end > 0 else (x - 5, "end")
            parts.append(text(outside[0], y + 16, _end(bar, show, high), anchor=outside[1]))
    parts.append(text(zero, bottom + 14, label, anchor="middle", faint=True))
    return picture(_WIDTH, bottom + 20, parts, label)


def _end(bar: Bar, show: Callable[[float], str], high: bool) -> str:
    value, name = (bar.high, bar.high_name) if high else (bar.low, bar.low_name)
    return f"{name}: {show(value)}" if name else show(value)
