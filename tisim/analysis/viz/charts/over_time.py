"""Values over time, in bins: areas one above the other, and rows of coloured cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tisim.analysis.viz.charts.scale import Scale
from tisim.analysis.viz.charts.svg import HUES, blend, line, picture, shorten, text, titled

_WIDTH, _HEIGHT = 760.0, 190.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 90.0, 14.0, 20.0, 34.0
_ROW = 15.0
_WIDEST = 24
# From nothing to the most, lighter to darker, in grey too.
_RAMP = ((236, 240, 244), (161, 196, 220), (72, 140, 190), (19, 82, 139), (8, 36, 75))


class TimeSeries(NamedTuple):
    """Values in bins of time.

    Attributes
    ----------
    name
        What they are of.
    values
        In each bin from the beginning on; behind its end they are 0.
    """

    name: str
    values: Sequence[float]


def areas(
    series: Sequence[TimeSeries],
    *,
    width: float,
    end: float,
    y_label: str,
    show_y: Callable[[float], str],
) -> str:
    """Draw up to eight series, one above the other.

    Parameters
    ----------
    series
        The first one is at the bottom.
    width
        Seconds of a bin.
    end
        When the axis ends, in seconds.
    y_label
        What the values are.
    show_y
        Writes a value.
    """
    count = max(len(one.values) for one in series)
    sums = [[0.0] * count]
    for one in series:
        padded = [*one.values, *[0.0] * (count - len(one.values))]
        sums.append([below + value for below, value in zip(sums[-1], padded, strict=True)])
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    x = Scale(0.0, end or 1.0, _LEFT, right)
    y = Scale.over([0.0, 1.04 * (max(sums[-1]) or 1.0)], bottom, _TOP, zero=True)
    parts = [*_time_axis(x, bottom)]
    for value in y.ticks():
        parts.append(line(_LEFT, y.place(value), right, y.place(value), 'class="grid"'))
        parts.append(text(_LEFT - 6, y.place(value) + 4, show_y(value), anchor="end"))
    parts.append(text(4, 12, y_label, faint=True))
    for place, one in enumerate(series):
        steps = [*_steps(sums[place + 1], width, end, x, y)]
        steps += reversed([*_steps(sums[place], width, end, x, y)])
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in steps)
        colour = HUES[place % len(HUES)]
        parts.append(titled(f'<polygon points="{points}" fill="{colour}"/>', one.name))
        at = _LEFT + 130 * place
        parts.append(
            f'<rect x="{at + 60:.1f}" y="3" width="10" height="10" fill="{colour}"/>'
            + text(at + 75, 12, shorten(one.name, 16))
        )
    return picture(_WIDTH, _HEIGHT, parts, f"{y_label} over time")


def strips(
    series: Sequence[TimeSeries],
    *,
    width: float,
    end: float,
    show: Callable[[float], str],
) -> str:
    """Draw each series as a row of cells: the darker, the more.

    Parameters
    ----------
    series
        At least one; from top to bottom.
    width
        Seconds of a bin.
    end
        When the axis ends, in seconds.
    show
        Writes a value, for tooltips.
    """
    most = max((value for one in series for value in one.values), default=0.0) or 1.0
    left = 6.8 * max(len(shorten(one.name, _WIDEST)) for one in series) + 14
    x = Scale(0.0, end or 1.0, left, _WIDTH - _RIGHT)
    bottom = 6 + len(series) * _ROW
    parts = [*_time_axis(x, bottom)]
    for row, one in enumerate(series):
        top = 6 + row * _ROW
        parts.append(text(left - 8, top + 11, shorten(one.name, _WIDEST), anchor="end"))
        for place, value in enumerate(one.values):
            begin = place * width
            if value <= 0 or begin >= end:
                continue
            at, until = x.place(begin), x.place(min(begin + width, end))
            red, green, blue = blend(_RAMP, value / most)
            cell = (
                f'<rect x="{at:.1f}" y="{top:.1f}" width="{max(until - at, 0.5):.2f}" '
                f'height="{_ROW - 1}" fill="rgb({red},{green},{blue})"/>'
            )
            parts.append(titled(cell, f"{one.name} at {begin:.6g} s: {show(value)}"))
    return picture(_WIDTH, bottom + _BOTTOM, parts, "each row over time")


def _steps(
    values: Sequence[float], width: float, end: float, x: Scale, y: Scale
) -> list[tuple[float, float]]:
    corners = []
    for place, value in enumerate(values):
        if place * width >= end:
            break
        height = y.place(value)
        corners += [
            (x.place(place * width), height),
            (x.place(min((place + 1) * width, end)), height),
        ]
    return corners


def _time_axis(x: Scale, bottom: float) -> list[str]:
    parts = [line(x.place(x.low), bottom, x.place(x.high), bottom)]
    for value in x.ticks():
        at = x.place(value)
        parts.append(line(at, bottom, at, bottom + 4))
        parts.append(text(at, bottom + 16, f"{value:g} s", anchor="middle"))
    return parts
