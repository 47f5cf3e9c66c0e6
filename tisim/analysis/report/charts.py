"""Charts as SVG in pages; colours follow the page's light or dark theme."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

#: Okabe and Ito's colours, which colour-blind readers can distinguish.
HUES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8A6D00", "#56B4E9", "#7A3B00", "#555599")


def picture(width: float, height: float, parts: Iterable[str], label: str) -> str:
    """Return an SVG element with these parts."""
    return (
        f'<svg class="plot" role="img" aria-label="{escape(label)}" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">\n'
        + "\n".join(parts)
        + "\n</svg>"
    )


def text(x: float, y: float, words: str, *, anchor: str = "start", faint: bool = False) -> str:
    """Return a line of text."""
    look = ' class="faint"' if faint else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{look}>{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, look: str = 'class="axis"') -> str:
    """Return a straight line; `look` are attributes."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {look}/>'


def titled(element: str, title: str) -> str:
    """Return an element, which ends with ``/>``, with a tooltip added."""
    tag = element[1:].split(" ", 1)[0]
    return f"{element.removesuffix('/>')}><title>{escape(title)}</title></{tag}>"


def blend(ramp: Sequence[tuple[int, int, int]], part: float) -> tuple[int, int, int]:
    """Return the colour (red, green, blue) at a fraction, 0 to 1, of a ramp."""
    at = min(part, 1.0) * (len(ramp) - 1)
    first = min(int(at), len(ramp) - 2)
    weight = at - first
    red, green, blue = (
        round(a + weight * (b - a)) for a, b in zip(ramp[first], ramp[first + 1], strict=True)
    )
    return red, green, blue


def shorten(words: str, most: int) -> str:
    """Shorten a text to `most` characters."""
    return words if len(words) <= most else words[: most - 3] + "..."


# A scale is logarithmic if the ratio of its extreme values exceeds this factor.
_LOGARITHMIC = 12.0
_TICKS = 5


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values from `low` to `high` to positions from `begin` to `end`."""

    low: float
    high: float
    begin: float
    end: float
    logarithmic: bool = False

    @classmethod
    def over(
        cls, values: Sequence[float], begin: float, end: float, *, zero: bool = False
    ) -> Scale:
        """Return a scale that fits all values; from 0 if `zero`, which makes it linear."""
        low, high = min(values), max(values)
        logarithmic = not zero and low > 0 and high > _LOGARITHMIC * low
        if zero:
            low, high = min(low, 0.0), max(high, 0.0)
        if low == high:
            low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
            logarithmic = False
        return cls(low, high, begin, end, logarithmic)

    def place(self, value: float) -> float:
        """Return the position of a value."""
        low, high, at = self.low, self.high, value
        if self.logarithmic:
            low, high, at = math.log(low), math.log(high), math.log(value)
        return self.begin + (at - low) / (high - low) * (self.end - self.begin)

    def ticks(self) -> list[float]:
        """Return a handful of round values."""
        if self.logarithmic:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            decades = [10.0**power for power in range(first, last + 1)]
            ticks = [tick for tick in decades if self.low <= tick <= self.high]
            if len(ticks) >= 3:
                return ticks
            finer = [tick * digit for tick in decades for digit in (1, 2, 5)]
            return [tick for tick in finer if self.low <= tick <= self.high]
        rough = (self.high - self.low) / _TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * digit for digit in (1, 2, 5, 10) if power * digit >= rough)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]


_BARS_WIDTH, _BAR_ROW, _BARS_TOP = 720.0, 24.0, 12.0
_BAR_NAME = 44
_LESS, _MORE = "#0072B2", "#D55E00"
# A waterfall starts at 0 unless its minimum sum is above this fraction of the maximum.
_NEAR_ZERO = 0.6
_STEP_NAME = 40


class Bar(NamedTuple):
    """A bar from `low` to `high`, either of which may be 0, and the labels of its ends."""

    name: str
    low: float
    high: float
    low_name: str = ""
    high_name: str = ""


def diverging_bars(bars: Sequence[Bar], *, label: str, show: Callable[[float], str]) -> str:
    """Draw bars around 0, one per row; `label` names their quantity and unit."""
    left = 6.6 * max(len(shorten(bar.name, _BAR_NAME)) for bar in bars) + 16
    margin = 6.6 * max(len(_end(bar, show, high)) for bar in bars for high in (False, True)) + 10
    ends = [end for bar in bars for end in (bar.low, bar.high)]
    has_left = any(bar.low < 0 for bar in bars)
    begin = left + (margin if has_left else 0.0)
    scale = Scale.over(ends, begin, _BARS_WIDTH - margin, zero=True)
    zero = scale.place(0.0)
    bottom = _BARS_TOP + len(bars) * _BAR_ROW
    parts = [line(zero, _BARS_TOP - 4, zero, bottom)]
    for row, bar in enumerate(bars):
        y = _BARS_TOP + row * _BAR_ROW
        parts.append(text(left - 10, y + 16, shorten(bar.name, _BAR_NAME), anchor="end"))
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
    return picture(_BARS_WIDTH, bottom + 20, parts, label)


def _end(bar: Bar, show: Callable[[float], str], high: bool) -> str:
    value, name = (bar.high, bar.high_name) if high else (bar.low, bar.low_name)
    return f"{name}: {show(value)}" if name else show(value)


class Step(NamedTuple):
    """A row of a waterfall: a change of the sum, or the sum itself."""

    name: str
    change: float
    is_sum: bool = False


def waterfall(steps: Sequence[Step], *, label: str, show: Callable[[float], str]) -> str:
    """Draw how one sum becomes another, one step per row.

    The axis starts near the minimum sum if all sums are far from 0, and says so.
    """
    sums, ends = 0.0, []
    for step in steps:
        before = 0.0 if step.is_sum else sums
        sums = step.change if step.is_sum else sums + step.change
        ends.append((before, sums))
    known = [end for step, pair in zip(steps, ends, strict=True) for end in pair[step.is_sum :]]
    low, high = min(known), max(known)
    low = 0.0 if low < _NEAR_ZERO * high else max(low - (high - low) / 3, 0.0)
    left = _LETTER * max(len(shorten(step.name, _STEP_NAME)) for step in steps) + 18
    margin = 6.6 * max(len(_step_text(step, show)) for step in steps) + 10
    scale = Scale.over([low, high or 1.0], left, _BARS_WIDTH - margin)
    scale = Scale(scale.low, scale.high, left, _BARS_WIDTH - margin)
    bottom = _BARS_TOP + len(steps) * _BAR_ROW
    parts = [line(left, _BARS_TOP - 4, left, bottom), line(left, bottom, _BARS_WIDTH, bottom)]
    for value in scale.ticks():
        parts.append(line(scale.place(value), bottom, scale.place(value), bottom + 4))
        parts.append(text(scale.place(value), bottom + 16, show(value), anchor="middle"))
    for row, (step, (before, after)) in enumerate(zip(steps, ends, strict=True)):
        y = _BARS_TOP + row * _BAR_ROW
        begin, end = sorted(scale.place(max(value, low)) for value in (before, after))
        colour = "#666666" if step.is_sum else _MORE if step.change > 0 else _LESS
        shape = (
            f'<rect x="{begin:.1f}" y="{y + 3:.1f}" width="{max(end - begin, 1.5):.1f}" '
            f'height="17" fill="{colour}"/>'
        )
        parts.append(text(left - 10, y + 16, shorten(step.name, _STEP_NAME), anchor="end"))
        parts.append(titled(shape, f"{step.name}: {_step_text(step, show)}"))
        parts.append(text(end + 5, y + 16, _step_text(step, show)))
        if row + 1 < len(steps):
            at = scale.place(after)
            parts.append(line(at, y + 20, at, y + _BAR_ROW + 3, 'class="grid"'))
    label = f"{label} (the axis does not begin at 0)" if low > 0 else label
    parts.append(text(_BARS_WIDTH / 2, bottom + 32, label, anchor="middle", faint=True))
    return picture(_BARS_WIDTH, bottom + 38, parts, label)


def _step_text(step: Step, show: Callable[[float], str]) -> str:
    return f"{'+' if step.change > 0 and not step.is_sum else ''}{show(step.change)}"


_WIDTH, _HEIGHT = 560.0, 320.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 84.0, 14.0, 16.0, 50.0
# Maximum length of the name of a value on an axis, and height of slanted names.
_TICK_NAME, _SLANTED_ROOM = 24, 76.0
_NAMED = len(HUES)
_LEGEND_ROW = 17.0
_LEGEND_NAME = 100


class Curve(NamedTuple):
    """Points of a curve: x, y, and the minimum and maximum y there; lines may join them.

    The legend contains the name unless it is empty.
    """

    name: str
    points: Sequence[tuple[float, float, float, float]]
    joined: bool = True


class _Frame(NamedTuple):
    x: Scale
    y: Scale


def curves(
    drawn: Sequence[Curve],
    *,
    x_label: str,
    y_label: str,
    show_y: Callable[[float], str],
    x_names: Sequence[str] | None = None,
) -> str:
    """Draw curves; up to eight have individual colours and a legend.

    `x_names`: the names of 0, 1, 2, ... if x has names instead of numbers.
    """
    frame = _frame(drawn, x_names)
    parts = [*_axes(frame, x_label, y_label, show_y, x_names)]
    few = len(drawn) <= _NAMED
    for place, curve in enumerate(drawn):
        colour = HUES[place] if few else HUES[0]
        opacity = 1.0 if few else 0.35
        spots = [(frame.x.place(x), *map(frame.y.place, ys)) for x, *ys in curve.points]
        if curve.joined and len(spots) > 1:
            way = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in spots)
            parts.append(
                f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="1.8" '
                f'opacity="{opacity}"/>'
            )
        for (x, y, low, high), point in zip(spots, curve.points, strict=True):
            if low != high:
                parts.append(line(x, low, x, high, f'stroke="{colour}" opacity="{opacity}"'))
            at = x_names[int(point[0])] if x_names is not None else f"{point[0]:g}"
            named = f"{curve.name}; " if curve.name else ""
            dot = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.4" fill="{colour}" opacity="{opacity}"/>'
            parts.append(titled(dot, f"{named}{x_label} {at}: {show_y(point[1])}"))
    width, height = _WIDTH, _HEIGHT + (_SLANTED_ROOM if _is_slanted(x_names) else 0.0)
    below = height
    if few and any(curve.name for curve in drawn):
        for place, curve in enumerate(drawn):
            y = below + place * _LEGEND_ROW + 6
            look = f'stroke="{HUES[place]}" stroke-width="2.5"'
            mark = f'<circle cx="{_LEFT + 11}" cy="{y - 4:.1f}" r="3.4" fill="{HUES[place]}"/>'
            parts.append(line(_LEFT, y - 4, _LEFT + 22, y - 4, look) if curve.joined else mark)
            name = shorten(curve.name, _LEGEND_NAME)
            parts.append(text(_LEFT + 28, y, name))
            width = max(width, _LEFT + 28 + _LETTER * len(name))
        height += len(drawn) * _LEGEND_ROW + 4
    return picture(width, height, parts, f"{y_label} over {x_label}")


def front(
    points: Sequence[tuple[float, float, str]],
    best: Sequence[int],
    *,
    x_label: str,
    y_label: str,
    show_y: Callable[[float], str],
) -> str:
    """Draw named points and join those with the indices `best`, from left to right."""
    curve = Curve("", [(x, y, y, y) for x, y, _ in points], joined=False)
    frame = _frame([curve], None)
    parts = [*_axes(frame, x_label, y_label, show_y, None)]
    spots = [(frame.x.place(x), frame.y.place(y)) for x, y, _ in points]
    steps = []
    for before, after in zip([None, *best[:-1]], best, strict=True):
        if before is not None:
            steps.append(f"{spots[after][0]:.1f},{spots[before][1]:.1f}")
        steps.append(f"{spots[after][0]:.1f},{spots[after][1]:.1f}")
    parts.append(
        f'<polyline points="{" ".join(steps)}" fill="none" stroke="{HUES[1]}" stroke-width="1.8"/>'
    )
    chosen = set(best)
    # The best ones last: other points may coincide with them.
    order = [place for place in range(len(points)) if place not in chosen] + list(best)
    for place in order:
        (x, y), (cost, time, name) = spots[place], points[place]
        colour, radius = (HUES[1], 4.5) if place in chosen else (HUES[0], 3.2)
        dot = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}"/>'
        parts.append(titled(dot, f"{name}: {cost:g}, {show_y(time)}"))
    return picture(_WIDTH, _HEIGHT, parts, f"{y_label} over {x_label}")


def _frame(drawn: Sequence[Curve], x_names: Sequence[str] | None) -> _Frame:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    ys = [y for curve in drawn for _, *values in curve.points for y in values]
    if x_names is not None:
        x = Scale(-0.5, len(x_names) - 0.5, _LEFT, right)
    else:
        values = [point[0] for curve in drawn for point in curve.points]
        x = Scale.over(values, _LEFT + 10, right - 10)
    y = Scale.over(ys, bottom, _TOP)
    if not y.logarithmic:
        # From 0, so that heights are proportional to values.
        y = Scale.over([*ys, 1.04 * max(ys)], bottom, _TOP, zero=True)
    return _Frame(x, y)


def _is_slanted(names: Sequence[str] | None) -> bool:
    """Return True if the names of an axis are too long to fit side by side."""
    if not names:
        return False
    longest = max(len(shorten(name, _TICK_NAME)) for name in names)
    return longest * 6.5 > (_WIDTH - _RIGHT - _LEFT) / len(names)


def _axes(
    frame: _Frame,
    x_label: str,
    y_label: str,
    show_y: Callable[[float], str],
    x_names: Sequence[str] | None,
) -> list[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = [line(_LEFT, bottom, right, bottom), line(_LEFT, _TOP, _LEFT, bottom)]
    for value in frame.y.ticks():
        y = frame.y.place(value)
        parts.append(line(_LEFT, y, right, y, 'class="grid"'))
        parts.append(text(_LEFT - 6, y + 4, show_y(value), anchor="end"))
    if x_names is not None:
        named = [(float(place), shorten(name, _TICK_NAME)) for place, name in enumerate(x_names)]
    else:
        named = [(value, f"{value:g}") for value in frame.x.ticks()]
    slanted = _is_slanted(x_names)
    for value, name in named:
        x = frame.x.place(value)
        parts.append(line(x, bottom, x, bottom + 4))
        tick = text(x, bottom + 17, name, anchor="end" if slanted else "middle")
        turn = f'<text transform="rotate(-30 {x:.1f} {bottom + 12:.1f})"'
        parts.append(tick.replace("<text", turn, 1) if slanted else tick)
    room = _SLANTED_ROOM if slanted else 0.0
    parts.append(text((_LEFT + right) / 2, bottom + 36 + room, x_label, anchor="middle"))
    parts.append(text(4, 10, y_label, faint=True))
    return parts


_CELL_WIDTH, _CELL_HEIGHT = 74.0, 26.0
_CELL_NAME = 40
_LETTER = 7.0  # approximate width of a letter
# From minimum to maximum: lighter to darker, also in greyscale.
_HEAT = ((247, 244, 225), (242, 196, 109), (217, 115, 54), (139, 38, 64), (58, 14, 62))


def heat_map(
    values: Sequence[Sequence[float | None]],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    row_label: str,
    column_label: str,
    show: Callable[[float], str],
) -> str:
    """Draw values by row and column as cells, which are empty for missing values."""
    known = [value for row in values for value in row if value is not None]
    low, high = min(known), max(known)
    left = _LETTER * max(len(shorten(name, _CELL_NAME)) for name in rows) + 12
    # The name of the rows may be long: it has its own line above them.
    top = 58.0
    parts = [text(left, 12, column_label, faint=True), text(0, 50, row_label, faint=True)]
    longest = max(len(shorten(name, _CELL_NAME)) for name in columns)
    cell_width = max(_CELL_WIDTH, _LETTER * longest + 8)
    for place, name in enumerate(columns):
        x = left + (place + 0.5) * cell_width
        parts.append(text(x, 32, shorten(name, _CELL_NAME), anchor="middle"))
    for row, (name, cells) in enumerate(zip(rows, values, strict=True)):
        y = top + row * _CELL_HEIGHT
        parts.append(text(left - 8, y + 17, shorten(name, _CELL_NAME), anchor="end"))
        for column, value in enumerate(cells):
            if value is None:
                continue
            x = left + column * cell_width
            part = (value - low) / (high - low) if high > low else 0.0
            red, green, blue = blend(_HEAT, part)
            cell = (
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{cell_width - 1}" '
                f'height="{_CELL_HEIGHT - 1}" fill="rgb({red},{green},{blue})"/>'
            )
            where = f"{row_label} {name}, {column_label} {columns[column]}"
            parts.append(titled(cell, f"{where}: {show(value)}"))
            dark = 0.3 * red + 0.59 * green + 0.11 * blue < 140
            ink = "#FFFFFF" if dark else "#1C1C1C"
            parts.append(
                f'<text x="{x + cell_width / 2:.1f}" y="{y + 17:.1f}" text-anchor="middle" '
                f'style="fill:{ink}">{show(value)}</text>'
            )
    width = max(
        left + len(columns) * cell_width,
        left + _LETTER * len(column_label),
        _LETTER * len(row_label),
    )
    return picture(width, top + len(rows) * _CELL_HEIGHT, parts, f"{row_label} and {column_label}")


_TIME_WIDTH, _TIME_HEIGHT = 760.0, 190.0
_TIME_LEFT, _TIME_RIGHT, _TIME_TOP, _TIME_BOTTOM = 90.0, 14.0, 20.0, 34.0
_STRIP_ROW = 15.0
_STRIP_NAME = 24
# From 0 to the maximum: lighter to darker, also in greyscale.
_BLUES = ((236, 240, 244), (161, 196, 220), (72, 140, 190), (19, 82, 139), (8, 36, 75))


class TimeSeries(NamedTuple):
    """Values in time bins from time 0 on; 0 after the last one."""

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
    """Draw up to eight series stacked, with the first one at the bottom.

    `width` is the bin length and `end` the length of the axis, in seconds.
    """
    count = max(len(layer.values) for layer in series)
    sums = [[0.0] * count]
    for layer in series:
        padded = [*layer.values, *[0.0] * (count - len(layer.values))]
        sums.append([below + value for below, value in zip(sums[-1], padded, strict=True)])
    bottom, right = _TIME_HEIGHT - _TIME_BOTTOM, _TIME_WIDTH - _TIME_RIGHT
    x = Scale(0.0, end or 1.0, _TIME_LEFT, right)
    y = Scale.over([0.0, 1.04 * (max(sums[-1]) or 1.0)], bottom, _TIME_TOP, zero=True)
    parts = [*_time_axis(x, bottom)]
    for value in y.ticks():
        parts.append(line(_TIME_LEFT, y.place(value), right, y.place(value), 'class="grid"'))
        parts.append(text(_TIME_LEFT - 6, y.place(value) + 4, show_y(value), anchor="end"))
    parts.append(text(4, 12, y_label, faint=True))
    for place, layer in enumerate(series):
        steps = [*_steps(sums[place + 1], width, end, x, y)]
        steps += reversed([*_steps(sums[place], width, end, x, y)])
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in steps)
        colour = HUES[place % len(HUES)]
        parts.append(titled(f'<polygon points="{points}" fill="{colour}"/>', layer.name))
        at = _TIME_LEFT + 130 * place
        parts.append(
            f'<rect x="{at + 60:.1f}" y="3" width="10" height="10" fill="{colour}"/>'
            + text(at + 75, 12, shorten(layer.name, 16))
        )
    return picture(_TIME_WIDTH, _TIME_HEIGHT, parts, f"{y_label} over time")


def strips(
    series: Sequence[TimeSeries],
    *,
    width: float,
    end: float,
    show: Callable[[float], str],
) -> str:
    """Draw each series as a row of cells, darker for higher values.

    `width` is the bin length and `end` the length of the axis, in seconds.
    """
    most = max((value for strip in series for value in strip.values), default=0.0) or 1.0
    left = 6.8 * max(len(shorten(strip.name, _STRIP_NAME)) for strip in series) + 14
    x = Scale(0.0, end or 1.0, left, _TIME_WIDTH - _TIME_RIGHT)
    bottom = 6 + len(series) * _STRIP_ROW
    parts = [*_time_axis(x, bottom)]
    for row, strip in enumerate(series):
        top = 6 + row * _STRIP_ROW
        parts.append(text(left - 8, top + 11, shorten(strip.name, _STRIP_NAME), anchor="end"))
        for place, value in enumerate(strip.values):
            begin = place * width
            if value <= 0 or begin >= end:
                continue
            at, until = x.place(begin), x.place(min(begin + width, end))
            red, green, blue = blend(_BLUES, value / most)
            cell = (
                f'<rect x="{at:.1f}" y="{top:.1f}" width="{max(until - at, 0.5):.2f}" '
                f'height="{_STRIP_ROW - 1}" fill="rgb({red},{green},{blue})"/>'
            )
            parts.append(titled(cell, f"{strip.name} at {begin:.6g} s: {show(value)}"))
    return picture(_TIME_WIDTH, bottom + _TIME_BOTTOM, parts, "each row over time")


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
