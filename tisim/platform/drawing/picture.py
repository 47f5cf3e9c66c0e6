"""A whole platform on paper: zones as boxes in boxes, and what the colours mean."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tisim.errors import InputError
from tisim.platform.drawing.canvas import (
    Area,
    Canvas,
    Shape,
    Stroke,
    Words,
    bounds,
    moved,
    text_width,
)
from tisim.platform.drawing.colouring import Colouring
from tisim.platform.drawing.leaf import caption, shapes_of
from tisim.platform.zones.cluster import ClusterZone
from tisim.platform.zones.table import TableZone
from tisim.support.files import write_file
from tisim.support.quantities import format_quantity

if TYPE_CHECKING:
    from tisim.platform.drawing.load import RunLoad
    from tisim.platform.platform import Platform
    from tisim.platform.zones.base import Zone

_SUFFIXES = (".svg", ".png")
_PAD, _HEAD, _GAP = 14.0, 22.0, 42.0
_FILLS = ("#FFFFFF", "#F6F6F6", "#EEEEEE", "#E6E6E6")
_SHOWN_LINES = 400


@dataclass(slots=True)
class _Box:
    """A zone on the paper: where it is, how large, and what is in it."""

    zone: Zone
    width: float = 0.0
    height: float = 0.0
    x: float = 0.0
    y: float = 0.0
    children: list[_Box] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)

    @property
    def middle(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2


def check_drawing(path: str | os.PathLike[str]) -> None:
    """Check that a file has the suffix of a drawing.

    Raises
    ------
    InputError
        When it has not.
    """
    if Path(path).suffix.lower() not in _SUFFIXES:
        stem = Path(path).stem
        raise InputError(
            f"a platform is drawn as SVG or PNG: call the file {stem}.svg or {stem}.png", file=path
        )


def draw(platform: Platform, path: str | os.PathLike[str], load: RunLoad | None = None) -> None:
    """Draw a platform into an SVG or PNG file.

    Fat trees are drawn by level, tori as grids, dragonflies as groups on a circle, other clusters
    with their switch. Where there are too many hosts or switches to see, several become a box. In
    an SVG, the names of hosts and links are tooltips.

    Parameters
    ----------
    platform
        What to draw.
    path
        File whose suffix is ``.svg`` or ``.png``.
    load
        What a run did: colours are the mean load of links; hosts without ranks are hollow. Without
        it, widths are bandwidths.

    Raises
    ------
    InputError
        If the suffix is another, or the file cannot be written.
    """
    check_drawing(path)
    canvas = paint(platform, load)
    if Path(path).suffix.lower() == ".svg":
        write_file(path, canvas.svg())
        return
    from tisim.platform.drawing.raster import png

    write_file(path, png(canvas))


def paint(platform: Platform, load: RunLoad | None = None) -> Canvas:
    """A platform as shapes; see `draw`."""
    colouring = Colouring(platform, load)
    notes: list[str] = []
    box = _measure(platform, platform.root, colouring, notes)
    _place(box, 10.0, 10.0)
    canvas = Canvas()
    canvas.add(*_zone(platform, box, colouring))
    colouring.legend(canvas, box.y + box.height + 18, list(dict.fromkeys(notes)))
    return canvas


def _measure(platform: Platform, zone: Zone, colouring: Colouring, notes: list[str]) -> _Box:
    """The size of a zone's box, and where things are in it, relative to its corner."""
    box = _Box(zone)
    if zone.children:
        box.children = [_measure(platform, child, colouring, notes) for child in zone.children]
        _shelve(box)
    else:
        shapes, remarks = shapes_of(zone, platform.topology, colouring)
        notes += remarks
        left, top, right, bottom = bounds(shapes)
        box.shapes = [*moved(shapes, _PAD - left, _HEAD + 6 - top)]
        box.width, box.height = right - left + 2 * _PAD, bottom - top + _HEAD + 6 + _PAD
    wide = text_width(_caption(zone).text, bold=True) + 2 * _PAD
    if wide > box.width:
        box.shapes = [*moved(box.shapes, (wide - box.width) / 2, 0.0)]
        box.width = wide
    return box


def _shelve(box: _Box) -> None:
    """Put the boxes of zones in rows, such that the whole is about as high as it is wide."""
    area = sum((child.width + _GAP) * (child.height + _GAP) for child in box.children)
    limit = max(math.sqrt(area) * 1.3, max(child.width for child in box.children))
    x = y = row_height = 0.0
    for child in box.children:
        if x and x + child.width > limit:
            x, y, row_height = 0.0, y + row_height + _GAP, 0.0
        child.x, child.y = _PAD + x, _HEAD + _PAD + y
        x += child.width + _GAP
        row_height = max(row_height, child.height)
        box.width = max(box.width, child.x + child.width + _PAD)
    box.height = _HEAD + _PAD + y + row_height + _PAD


def _place(box: _Box, x: float, y: float) -> None:
    """Turn places relative to a box's corner into places on the paper."""
    box.x, box.y = x, y
    box.shapes = [*moved(box.shapes, x, y)]
    for child in box.children:
        _place(child, x + child.x, y + child.y)


def _caption(zone: Zone) -> Words:
    if zone.children:
        return caption(zone, 0)
    return caption(zone, zone.hosts if isinstance(zone, ClusterZone) else zone.size)


def _zone(platform: Platform, box: _Box, colouring: Colouring) -> Iterator[Shape]:
    zone = box.zone
    fill = _FILLS[zone.depth % len(_FILLS)]
    yield Area(box.x, box.y, box.width, box.height, fill, "#888888")
    yield from moved([_caption(zone)], box.x + _PAD, box.y + 15)
    # Lines between zones go first: the boxes hide where they would cross hosts.
    labels: list[Shape] = []
    if isinstance(zone, TableZone) and box.children:
        yield from _routes(platform, box, zone, colouring, labels)
    for child in box.children:
        yield from _zone(platform, child, colouring)
    yield from box.shapes
    yield from labels


def _routes(
    platform: Platform, box: _Box, zone: TableZone, colouring: Colouring, labels: list[Shape]
) -> Iterator[Shape]:
    """A line for each pair of zones with a declared route, with its least bandwidth."""
    ends = {child.zone.local: child.middle for child in box.children}
    pairs: dict[tuple[int, int], set[int]] = {}
    for (src, dst), route in zone.routes.items():
        pair = min(src, dst), max(src, dst)
        if src != dst and (pair in pairs or len(pairs) < _SHOWN_LINES):
            pairs.setdefault(pair, set()).update(route.links)
    for place, ((src, dst), crossed) in enumerate(pairs.items()):
        if not crossed:
            continue
        links = np.array(sorted(crossed), dtype=np.int64)
        (x1, y1), (x2, y2) = ends[src], ends[dst]
        yield Stroke(((x1, y1), (x2, y2)), *colouring.cable(links))
        # Lines that go across meet in their middles; their labels must not.
        across = min(abs(x2 - x1), abs(y2 - y1)) > _HEAD
        part = 0.5 + (0.06 if place % 2 else -0.06) * across
        x, y = x1 + part * (x2 - x1), y1 + part * (y2 - y1) - 4
        least = float(platform.resources.link_bandwidth[links].min())
        text = format_quantity(least, "B/s")
        labels.append(
            Area(x - text_width(text, 9) / 2 - 2, y - 9, text_width(text, 9) + 4, 12, "#FFFFFF")
        )
        labels.append(Words(x, y, text, 9, "middle"))
