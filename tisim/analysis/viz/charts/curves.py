"""Values over values: curves, points, and the front of the best of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tisim.analysis.viz.charts.scale import Scale
from tisim.analysis.viz.charts.svg import HUES, line, picture, shorten, text, titled

_WIDTH, _HEIGHT = 560.0, 320.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 84.0, 14.0, 16.0, 50.0
_NAMED = len(HUES)
_LEGEND_ROW = 17.0
_WIDEST = 60


class Curve(NamedTuple):
    """Points of one curve.

    Attributes
    ----------
    name
        What it is, for the legend; may be empty.
    points
        Their x, y, and the least and greatest y there.
    joined
        Whether lines join the points.
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
    """Draw curves.

    Parameters
    ----------
    drawn
        At least one, with at least one point. Up to eight have colours and a legend.
    x_label, y_label
        What the axes are, with units.
    show_y
        Writes a value of y.
    x_names
        Where x has names instead of numbers: the names of 0, 1, 2, ...
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
    height = _HEIGHT
    if few and any(curve.name for curve in drawn):
        for place, curve in enumerate(drawn):
            y = _HEIGHT + place * _LEGEND_ROW + 6
            parts.append(
                line(_LEFT, y - 4, _LEFT + 22, y - 4, f'stroke="{HUES[place]}" stroke-width="2.5"')
            )
            parts.append(text(_LEFT + 28, y, shorten(curve.name, _WIDEST)))
        height += len(drawn) * _LEGEND_ROW + 4
    return picture(_WIDTH, height, parts, f"{y_label} over {x_label}")


def front(
    points: Sequence[tuple[float, float, str]],
    best: Sequence[int],
    *,
    x_label: str,
    y_label: str,
    show_y: Callable[[float], str],
) -> str:
    """Draw points with their names; those of the places `best`, from left to right, are joined."""
    one = Curve("", [(x, y, y, y) for x, y, _ in points], joined=False)
    frame = _frame([one], None)
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
    # The best ones last: others may be at the same place.
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
        # From 0, so that heights compare as the values do.
        y = Scale.over([*ys, 1.04 * max(ys)], bottom, _TOP, zero=True)
    return _Frame(x, y)


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
        room = max(int((right - _LEFT) / max(len(x_names), 1) / 6.5), 4)
        named = [(float(place), shorten(name, room)) for place, name in enumerate(x_names)]
    else:
        named = [(value, f"{value:g}") for value in frame.x.ticks()]
    for value, name in named:
        x = frame.x.place(value)
        parts.append(line(x, bottom, x, bottom + 4))
        parts.append(text(x, bottom + 17, name, anchor="middle"))
    parts.append(text((_LEFT + right) / 2, bottom + 36, x_label, anchor="middle"))
    parts.append(text(4, 10, y_label, faint=True))
    return parts
