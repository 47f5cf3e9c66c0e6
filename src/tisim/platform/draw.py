"""Draws a platform as SVG: zones as boxes in boxes, hosts as dots, the links between them."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from tisim.errors import InputError
from tisim.files import write_file
from tisim.platform.zones.cluster import ClusterZone
from tisim.platform.zones.flat import FlatCluster
from tisim.platform.zones.star import StarZone
from tisim.platform.zones.table import TableZone
from tisim.quantities import format_quantity

if TYPE_CHECKING:
    from tisim.platform.platform import Platform
    from tisim.platform.zones.base import Zone

_DOT, _STEP, _PAD, _HEAD = 5.0, 16.0, 14.0, 22.0
_SHOWN_HOSTS = 256
_RING_VERTICES = 32
_SHOWN_LINES = 400
# Okabe and Ito's colours, which colour-blind readers tell apart.
_HOST, _ROUTER, _LINE, _HUB = "#0072B2", "#000000", "#D55E00", "#009E73"
_FILLS = ("#FFFFFF", "#F4F4F4", "#EAEAEA", "#E0E0E0")
_STYLE = (
    "text{font:11px sans-serif;fill:#222}.name{font-weight:bold}"
    f".link{{stroke:{_LINE};stroke-width:1.5;fill:none}}.spoke{{stroke:#BBB;stroke-width:1}}"
    ".label{font-size:9px;text-anchor:middle;paint-order:stroke;stroke:#FFF;stroke-width:2px}"
)


@dataclass(slots=True)
class _Box:
    """A zone on the paper: where it is, how large, and its vertices in it."""

    zone: Zone
    width: float = 0.0
    height: float = 0.0
    x: float = 0.0
    y: float = 0.0
    children: list[_Box] = field(default_factory=list)
    spots: dict[int, tuple[float, float]] = field(default_factory=dict)
    ring: bool = False

    @property
    def middle(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2


def draw(platform: Platform, path: str | os.PathLike[str]) -> None:
    """Draw a platform into an SVG file.

    Large clusters show their first hosts only, and say so.

    Raises
    ------
    InputError
        If the file is not named ``.svg`` or cannot be written.
    """
    file = Path(path)
    if file.suffix != ".svg":
        raise InputError(f"a platform is drawn as SVG: call the file {file.stem}.svg", file=path)
    box = _measure(platform.root)
    _place(box, 10.0, 10.0)
    width, height = box.width + 20, box.height + 20
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}"><style>{_STYLE}</style>'
    )
    text = "\n".join([head, *_zone(platform, box), "</svg>\n"])
    write_file(path, text)


def _measure(zone: Zone) -> _Box:
    """The size of a zone's box, and where things are in it, relative to its corner."""
    box = _Box(zone)
    if zone.children:
        box.children = [_measure(child) for child in zone.children]
        _shelve(box)
    elif isinstance(zone, TableZone) and zone.size <= _RING_VERTICES:
        box.ring = True
        radius = max(zone.size * _STEP * 1.6 / math.tau, 20.0)
        box.width = box.height = 2 * radius + 4 * _PAD
        for vertex in range(zone.size):
            angle = math.tau * vertex / zone.size
            x, y = radius * math.sin(angle), -radius * math.cos(angle)
            box.spots[vertex] = (box.width / 2 + x, _HEAD + radius + _PAD + y)
        box.height += _HEAD
    else:
        shown = min(zone.size, _SHOWN_HOSTS)
        columns = max(math.ceil(math.sqrt(shown) * 1.5), 1)
        for vertex in range(shown):
            row, column = divmod(vertex, columns)
            spot = _PAD + (column + 0.5) * _STEP, _HEAD + 18 + (row + 0.5) * _STEP
            box.spots[vertex] = spot
        box.width = columns * _STEP + 2 * _PAD
        box.height = _HEAD + 18 + math.ceil(shown / columns) * _STEP + _PAD
    narrow = box.width
    box.width = max(box.width, 8.0 * len(_caption(zone)) + 2 * _PAD)
    if box.ring:
        shift = (box.width - narrow) / 2
        box.spots = {vertex: (x + shift, y) for vertex, (x, y) in box.spots.items()}
    return box


def _shelve(box: _Box) -> None:
    """Put the boxes of zones in rows, such that the whole is about as high as it is wide."""
    area = sum((child.width + 3 * _PAD) * (child.height + 3 * _PAD) for child in box.children)
    limit = max(math.sqrt(area) * 1.3, max(child.width for child in box.children))
    x = y = row_height = 0.0
    for child in box.children:
        if x and x + child.width > limit:
            x, y, row_height = 0.0, y + row_height + 3 * _PAD, 0.0
        child.x, child.y = _PAD + x, _HEAD + _PAD + y
        x += child.width + 3 * _PAD
        row_height = max(row_height, child.height)
        box.width = max(box.width, child.x + child.width + _PAD)
    box.height = _HEAD + _PAD + y + row_height + _PAD


def _place(box: _Box, x: float, y: float) -> None:
    """Turn places relative to a box's corner into places on the paper."""
    box.x, box.y = x, y
    box.spots = {vertex: (x + dx, y + dy) for vertex, (dx, dy) in box.spots.items()}
    for child in box.children:
        _place(child, x + child.x, y + child.y)


def _caption(zone: Zone) -> str:
    if zone.children:
        return f"{zone.name} ({zone.kind})"
    return f"{zone.name} ({zone.kind}, {zone.size - isinstance(zone, FlatCluster)})"


def _zone(platform: Platform, box: _Box) -> Iterator[str]:
    zone = box.zone
    yield (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        f'rx="4" fill="{_FILLS[zone.depth % len(_FILLS)]}" stroke="#888"/>'
    )
    yield (
        f'<text class="name" x="{box.x + _PAD:.1f}" y="{box.y + 15:.1f}">'
        f"{escape(_caption(zone))}</text>"
    )
    # Lines between zones go first: the boxes hide where they would cross hosts.
    labels: list[str] = []
    if isinstance(zone, TableZone):
        yield from _routes(platform, box, zone, labels)
    elif isinstance(zone, StarZone | ClusterZone) and not zone.children:
        yield from _hub(platform, box, zone)
    for child in box.children:
        yield from _zone(platform, child)
    yield from labels
    yield from _dots(box)


def _routes(platform: Platform, box: _Box, zone: TableZone, labels: list[str]) -> Iterator[str]:
    """A line for each pair with a declared route; between zones, with its least bandwidth."""
    ends = {child.zone.local: child.middle for child in box.children} or box.spots
    seen: set[frozenset[int]] = set()
    for (src, dst), route in zone.routes.items():
        pair = frozenset((src, dst))
        if src == dst or pair in seen or len(seen) >= _SHOWN_LINES or not ends:
            continue
        seen.add(pair)
        (x1, y1), (x2, y2) = ends[src], ends[dst]
        names = ", ".join(platform.topology.links.name(link) for link in route.links)
        yield (
            f'<line class="link" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}">'
            f"<title>{escape(names)}</title></line>"
        )
        if zone.children:
            least = platform.resources.link_bandwidth[list(route.links)].min()
            # Lines that go across meet in their middles; their labels must not.
            across = min(abs(x2 - x1), abs(y2 - y1)) > _HEAD
            part = 0.5 + (0.06 if len(seen) % 2 else -0.06) * across
            x, y = x1 + part * (x2 - x1), y1 + part * (y2 - y1) - 3
            text = escape(format_quantity(float(least), "B/s"))
            labels.append(f'<text class="label" x="{x:.1f}" y="{y:.1f}">{text}</text>')


def _hub(platform: Platform, box: _Box, zone: StarZone | ClusterZone) -> Iterator[str]:
    """What joins the hosts of a cluster: its backbone, its switch or its topology."""
    y = box.y + _HEAD + 6
    left, right = box.x + _PAD, box.x + box.width - _PAD
    backbone = zone.backbone_links if isinstance(zone, FlatCluster) else ()
    backbone = zone.backbone if isinstance(zone, StarZone) else backbone
    if isinstance(zone, StarZone | FlatCluster):
        for x, spot in box.spots.values():
            yield f'<line class="spoke" x1="{x:.1f}" y1="{y:.1f}" x2="{x:.1f}" y2="{spot:.1f}"/>'
        yield (
            f'<line x1="{left:.1f}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}" '
            f'stroke="{_HUB}" stroke-width="{4 if backbone else 2}"/>'
        )
    if isinstance(zone, FlatCluster | StarZone):
        label = "a switch" if not backbone else "backbone "
    else:
        label = zone.kind
    if backbone:
        label += format_quantity(float(platform.resources.link_bandwidth[backbone[0]]), "B/s")
    if isinstance(zone, ClusterZone):
        label += f", {format_quantity(zone.spec.link.bandwidth, 'B/s')} links"
    middle = (left + right) / 2
    yield f'<text class="label" x="{middle:.1f}" y="{y + 12:.1f}">{escape(label)}</text>'


def _dots(box: _Box) -> Iterator[str]:
    zone = box.zone
    routers = {zone.hosts} if isinstance(zone, FlatCluster) else set(zone.routers)
    for vertex, (x, y) in box.spots.items():
        title = f"<title>{escape(zone.label(vertex))}</title>"
        if vertex in routers:
            yield (
                f'<rect x="{x - _DOT / 2:.1f}" y="{y - _DOT / 2:.1f}" width="{_DOT}" '
                f'height="{_DOT}" fill={quoteattr(_ROUTER)}>{title}</rect>'
            )
        else:
            place = f'cx="{x:.1f}" cy="{y:.1f}" r="{_DOT / 2 + 1}"'
            yield f'<circle {place} fill="{_HOST}">{title}</circle>'
    if zone.size > len(box.spots) > 0:
        x, y = box.x + box.width - _PAD, box.y + box.height - 4
        more = f"and {zone.size - len(box.spots)} more"
        yield f'<text class="label" style="text-anchor:end" x="{x:.1f}" y="{y:.1f}">{more}</text>'
