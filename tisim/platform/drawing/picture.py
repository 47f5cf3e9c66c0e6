"""Drawing of a whole platform: zones as nested boxes, and a legend."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tisim.errors import InputError
from tisim.platform.drawing.canvas import (
    Area,
    Canvas,
    Shape,
    Stroke,
    Text,
    bounds,
    text_width,
    translate,
)
from tisim.platform.drawing.colouring import Colouring
from tisim.platform.drawing.dragonfly import draw_dragonfly
from tisim.platform.drawing.fat_tree import draw_fat_tree
from tisim.platform.drawing.layout import Bundle, Item, Layout, bundles, draw_comb, strokes
from tisim.platform.drawing.torus import draw_torus
from tisim.platform.zones.cluster import ClusterZone
from tisim.platform.zones.dragonfly import DragonflyCluster
from tisim.platform.zones.fattree import FatTreeCluster
from tisim.platform.zones.flat import FlatCluster
from tisim.platform.zones.star import StarZone
from tisim.platform.zones.table import TableZone
from tisim.platform.zones.torus import TorusCluster
from tisim.support.files import write_file
from tisim.support.quantities import format_quantity

if TYPE_CHECKING:
    from tisim.platform.drawing.colouring import RunLoad
    from tisim.platform.platform import Platform
    from tisim.platform.topology import Topology
    from tisim.platform.zones.base import Zone

_STEP = 26.0
# Above this number of lines they become thinner, down to this fraction of their width.
_HEAVY_LINES, _THINNEST = 24, 0.2
_NO_LINKS = np.zeros(0, dtype=np.int64)
_RING, _MAX_FORCE_LAYOUT, _SHOWN_VERTICES, _SHOWN_LINES = 32, 64, 256, 400


class _Content(NamedTuple):
    """A layout, the bundles between its items, and the platform's index of the first vertices.

    The index is -1 for a vertex that is not a host.
    """

    layout: Layout
    bundles: list[Bundle]
    hosts: Sequence[int]
    name: Callable[[int], str]


def shapes_of(
    zone: Zone, topology: Topology, colouring: Colouring
) -> tuple[list[Shape], list[str]]:
    """Return the shapes of a zone, the lowest first, and notes for the reader."""
    content = _content(zone, topology)
    layout = content.layout
    inner = {bundle.one: bundle.links for bundle in content.bundles if bundle.one == bundle.other}
    between = [bundle for bundle in content.bundles if bundle.one != bundle.other]
    between.sort(key=lambda bundle: colouring.load_sort_key(bundle.links))
    shapes = [*layout.background]
    scale = min(1.0, max((_HEAVY_LINES / max(len(between), 1)) ** 0.6, _THINNEST))
    for bundle in between:
        way = layout.route(layout.items, bundle.one, bundle.other)
        shapes += strokes(way, *colouring.cable(bundle.links, scale))
    hosts: list[list[int]] = [[] for _ in layout.items]
    names: dict[int, str] = {}
    for vertex, place in enumerate(layout.item_of.tolist()):
        host = content.hosts[vertex] if vertex < len(content.hosts) else -1
        if host >= 0:
            hosts[place].append(host)
        else:
            names.setdefault(place, content.name(vertex))
    for place, item in enumerate(layout.items):
        links = inner.get(place, _NO_LINKS)
        shapes += colouring.item(item, hosts[place], links, names.get(place, ""))
    return [*shapes, *layout.foreground], layout.notes


def _content(zone: Zone, topology: Topology) -> _Content:
    if isinstance(zone, ClusterZone):
        return _cluster(zone)
    if isinstance(zone, StarZone):
        return _star(zone, topology)
    return _table(zone, topology)


def _cluster(zone: ClusterZone) -> _Content:
    is_flat = isinstance(zone, FlatCluster)
    if isinstance(zone, FatTreeCluster):
        layout = draw_fat_tree(zone)
    elif isinstance(zone, TorusCluster):
        layout = draw_torus(zone)
    elif isinstance(zone, DragonflyCluster):
        layout = draw_dragonfly(zone)
    else:
        layout = draw_comb(zone.hosts)
        # The two ends of a backbone are one switch.
        layout.item_of = np.append(layout.item_of, layout.item_of[-1])
    wiring = zone.wiring()
    # A limiter belongs to its host or switch, or to the host's line if each host has one link.
    ends = np.full_like(wiring.limited, zone.hosts) if is_flat else wiring.limited
    joined = bundles(
        layout.item_of,
        np.concatenate([wiring.tails, wiring.limited]),
        np.concatenate([wiring.heads, ends]),
        np.concatenate([wiring.links, wiring.limiters]),
    )
    hosts = range(zone.first_host, zone.first_host + zone.hosts)
    what = "switch of the cluster" if is_flat else "switch"
    return _Content(layout, joined, hosts, lambda vertex: f"{what} {vertex - zone.hosts}".rstrip())


def _star(zone: StarZone, topology: Topology) -> _Content:
    layout = draw_comb(zone.size)
    ends, links = [], []
    backbone = set(zone.backbone)
    for vertex in range(zone.size):
        own = zone.links_of(vertex)
        for link in (*own.up, *own.down):
            if link not in backbone:
                ends.append(vertex)
                links.append(link)
    hub = zone.size
    joined = bundles(
        layout.item_of,
        np.array(ends, dtype=np.int64),
        np.full(len(ends), hub, dtype=np.int64),
        np.array(links, dtype=np.int64),
    )
    if backbone:
        place = int(layout.item_of[-1])
        joined.append(Bundle(place, place, np.array(zone.backbone, dtype=np.int64)))
    return _Content(layout, joined, _hosts(zone, topology), lambda vertex: _label(zone, vertex))


def _table(zone: Zone, topology: Topology) -> _Content:
    """Lay out the vertices, or the first of them, with a line for each declared route."""
    shown = min(zone.size, _SHOWN_VERTICES)
    routes = zone.routes.items() if isinstance(zone, TableZone) else ()
    places = (
        _force_layout(shown, [pair for pair, _ in routes])
        if zone.size <= _MAX_FORCE_LAYOUT
        else None
    )
    if places is None and zone.size <= _RING:
        radius = max(zone.size * _STEP / math.tau, 20.0) if zone.size > 1 else 0.0
        angles = [math.tau * vertex / max(zone.size, 1) for vertex in range(shown)]
        places = [(radius * math.sin(angle), -radius * math.cos(angle)) for angle in angles]
    elif places is None:
        columns = math.ceil(math.sqrt(shown) * 1.5)
        places = [(vertex % columns * _STEP, vertex // columns * _STEP) for vertex in range(shown)]
    items = [Item(x, y, switches=int(v in zone.routers)) for v, (x, y) in enumerate(places)]
    layout = Layout(items, np.arange(shown))
    if zone.size > shown:
        layout.notes.append(f"{zone.name}: {zone.size - shown:,} more are not drawn.")
    ends: dict[tuple[int, int], set[int]] = {}
    for (src, dst), route in routes:
        pair = min(src, dst), max(src, dst)
        if src != dst and pair[1] < shown and (pair in ends or len(ends) < _SHOWN_LINES):
            ends.setdefault(pair, set()).update(route.links)
    joined = [
        Bundle(*pair, np.array(sorted(links), dtype=np.int64))
        for pair, links in ends.items()
        if links
    ]
    hosts = _hosts(zone, topology)[:shown]
    return _Content(layout, joined, hosts, lambda vertex: _label(zone, vertex))


def _force_layout(size: int, routes: Iterable[tuple[int, int]]) -> list[tuple[float, float]] | None:
    """Place vertices at distances proportional to their hop counts (Kamada & Kawai, 1989).

    Return None unless the graph is connected and at least one pair lacks a route.
    """
    import networkx as nx

    graph: nx.Graph[int] = nx.Graph(pair for pair in routes if pair[0] != pair[1])
    graph.add_nodes_from(range(size))
    if size < 3 or nx.density(graph) == 1 or not nx.is_connected(graph):
        return None
    layout = nx.kamada_kawai_layout(graph)
    places = np.array([layout[vertex] for vertex in range(size)])
    apart = np.linalg.norm(places[:, None] - places[None, :], axis=2)[np.triu_indices(size, 1)]
    scaled = places * min(_STEP / apart.min(), _STEP * size)
    return [(float(x), float(y)) for x, y in scaled]


def _hosts(zone: Zone, topology: Topology) -> list[int]:
    """Return the platform's host index of each vertex of a zone, -1 for routers."""
    indices = []
    for vertex in range(zone.size):
        index = None if vertex in zone.routers else topology.hosts.find(zone.label(vertex))
        indices.append(-1 if index is None else index)
    return indices


def _label(zone: Zone, vertex: int) -> str:
    return zone.label(vertex) if vertex < zone.size else f"switch of {zone.name}"


def caption(zone: Zone, hosts: int) -> Text:
    """Return the caption of a zone: its name, kind and size."""
    size = f", {hosts:,} hosts" if hosts else ""
    return Text(0, 0, f"{zone.name} ({zone.kind}{size})", bold=True)


_SUFFIXES = (".svg", ".png")
_PAD, _HEAD, _GAP = 14.0, 22.0, 42.0
_FILLS = ("#FFFFFF", "#F6F6F6", "#EEEEEE", "#E6E6E6")


@dataclass(slots=True)
class _Box:
    """Position, size and contents of a zone."""

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
    """Check that a file name has the suffix of a drawing.

    Raises an `InputError` if it does not.
    """
    if Path(path).suffix.lower() not in _SUFFIXES:
        stem = Path(path).stem
        raise InputError(
            f"a platform can be drawn as SVG or PNG: name the file {stem}.svg or {stem}.png",
            file=path,
        )


def draw(platform: Platform, path: str | os.PathLike[str], load: RunLoad | None = None) -> None:
    """Draw a platform to an SVG or PNG file.

    Fat trees are drawn by level, tori as grids, dragonflies as groups on a circle, other clusters
    with their switch. If there are too many hosts or switches, several are merged into a box. In
    an SVG, the names of hosts and links are tooltips. `path`: file with the suffix ``.svg`` or
    ``.png``. `load`: load of a run: colours show the mean load of links, and hosts without ranks
    are hollow. Without it, widths show bandwidths. Raises an `InputError` if the suffix is wrong
    or the file cannot be written.
    """
    check_drawing(path)
    canvas = paint(platform, load)
    if Path(path).suffix.lower() == ".svg":
        write_file(path, canvas.svg())
        return
    from tisim.platform.drawing.canvas import png

    write_file(path, png(canvas))


def paint(platform: Platform, load: RunLoad | None = None) -> Canvas:
    """Return a platform as shapes; see `draw`."""
    colouring = Colouring(platform, load)
    notes: list[str] = []
    box = _measure(platform, platform.root, colouring, notes)
    _place(box, 10.0, 10.0)
    canvas = Canvas()
    canvas.add(*_zone(platform, box, colouring))
    colouring.legend(canvas, box.y + box.height + 18, list(dict.fromkeys(notes)))
    return canvas


def _measure(platform: Platform, zone: Zone, colouring: Colouring, notes: list[str]) -> _Box:
    """Compute the size of a zone's box and the positions of its contents relative to its corner."""
    box = _Box(zone)
    if zone.children:
        box.children = [_measure(platform, child, colouring, notes) for child in zone.children]
        _arrange_in_rows(box)
    else:
        shapes, remarks = shapes_of(zone, platform.topology, colouring)
        notes += remarks
        left, top, right, bottom = bounds(shapes)
        box.shapes = [*translate(shapes, _PAD - left, _HEAD + 6 - top)]
        box.width, box.height = right - left + 2 * _PAD, bottom - top + _HEAD + 6 + _PAD
    wide = text_width(_caption(zone).text, bold=True) + 2 * _PAD
    if wide > box.width:
        box.shapes = [*translate(box.shapes, (wide - box.width) / 2, 0.0)]
        box.width = wide
    return box


def _arrange_in_rows(box: _Box) -> None:
    """Arrange the boxes of zones in rows, such that the result is about as high as wide."""
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
    """Convert positions relative to a box's corner to absolute ones."""
    box.x, box.y = x, y
    box.shapes = [*translate(box.shapes, x, y)]
    for child in box.children:
        _place(child, x + child.x, y + child.y)


def _caption(zone: Zone) -> Text:
    if zone.children:
        return caption(zone, 0)
    return caption(zone, zone.hosts if isinstance(zone, ClusterZone) else zone.size)


def _zone(platform: Platform, box: _Box, colouring: Colouring) -> Iterator[Shape]:
    zone = box.zone
    fill = _FILLS[zone.depth % len(_FILLS)]
    yield Area(box.x, box.y, box.width, box.height, fill, "#888888")
    yield from translate([_caption(zone)], box.x + _PAD, box.y + 15)
    # Lines between zones go first: the boxes hide them where they would cross hosts.
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
    """Yield a line per pair of zones with a declared route, labelled with its least bandwidth."""
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
        # Diagonal lines cross in their middles; offset their labels so that they do not overlap.
        across = min(abs(x2 - x1), abs(y2 - y1)) > _HEAD
        part = 0.5 + (0.06 if place % 2 else -0.06) * across
        x, y = x1 + part * (x2 - x1), y1 + part * (y2 - y1) - 4
        least = float(platform.resources.link_bandwidth[links].min())
        text = format_quantity(least, "B/s")
        labels.append(
            Area(x - text_width(text, 9) / 2 - 2, y - 9, text_width(text, 9) + 4, 12, "#FFFFFF")
        )
        labels.append(Text(x, y, text, 9, "middle"))
