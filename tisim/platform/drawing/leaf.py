"""A zone without zones on paper: its layout, its links, its hosts and switches as shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tisim.platform.drawing.canvas import Shape, Words
from tisim.platform.drawing.dragonfly import draw_dragonfly
from tisim.platform.drawing.fat_tree import draw_fat_tree
from tisim.platform.drawing.layout import Bundle, Item, Layout, bundles, strokes
from tisim.platform.drawing.switch import draw_comb
from tisim.platform.drawing.torus import draw_torus
from tisim.platform.zones.cluster import ClusterZone
from tisim.platform.zones.dragonfly import DragonflyCluster
from tisim.platform.zones.fattree import FatTreeCluster
from tisim.platform.zones.flat import FlatCluster
from tisim.platform.zones.star import StarZone
from tisim.platform.zones.table import TableZone
from tisim.platform.zones.torus import TorusCluster

if TYPE_CHECKING:
    from tisim.platform.drawing.colouring import Colouring
    from tisim.platform.topology import Topology
    from tisim.platform.zones.base import Zone

_STEP = 26.0
# With more lines they become thinner, down to this part of their width.
_HEAVY_LINES, _THINNEST = 24, 0.2
_NO_LINKS = np.zeros(0, dtype=np.int64)
_RING, _SHOWN_VERTICES, _SHOWN_LINES = 32, 256, 400


class _Content(NamedTuple):
    """A layout, what joins its items, and the platform's index of each of the first vertices.

    A vertex that is no host has -1.
    """

    layout: Layout
    bundles: list[Bundle]
    hosts: Sequence[int]
    name: Callable[[int], str]


def shapes_of(
    zone: Zone, topology: Topology, colouring: Colouring
) -> tuple[list[Shape], list[str]]:
    """The shapes of a zone, the lowest first, and notes on how to read them."""
    content = _content(zone, topology)
    layout = content.layout
    inner = {bundle.one: bundle.links for bundle in content.bundles if bundle.one == bundle.other}
    between = [bundle for bundle in content.bundles if bundle.one != bundle.other]
    between.sort(key=lambda bundle: colouring.rank_of_load(bundle.links))
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
    # A limiter belongs to its host or switch, or, where each host has one link, to that line.
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
    """Vertices in a ring, or the first of them in rows, with a line for each declared route."""
    shown = zone.size if zone.size <= _RING else min(zone.size, _SHOWN_VERTICES)
    if zone.size <= _RING:
        radius = max(zone.size * _STEP / math.tau, 20.0) if zone.size > 1 else 0.0
        angles = [math.tau * vertex / max(zone.size, 1) for vertex in range(shown)]
        places = [(radius * math.sin(angle), -radius * math.cos(angle)) for angle in angles]
    else:
        columns = math.ceil(math.sqrt(shown) * 1.5)
        places = [(vertex % columns * _STEP, vertex // columns * _STEP) for vertex in range(shown)]
    items = [Item(x, y, switches=int(v in zone.routers)) for v, (x, y) in enumerate(places)]
    layout = Layout(items, np.arange(shown))
    if zone.size > shown:
        layout.notes.append(f"{zone.name}: {zone.size - shown:,} more are not drawn.")
    ends: dict[tuple[int, int], set[int]] = {}
    for (src, dst), route in zone.routes.items() if isinstance(zone, TableZone) else ():
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


def _hosts(zone: Zone, topology: Topology) -> list[int]:
    """The platform's index of each vertex of a zone, -1 for routers."""
    found = []
    for vertex in range(zone.size):
        index = None if vertex in zone.routers else topology.hosts.find(zone.label(vertex))
        found.append(-1 if index is None else index)
    return found


def _label(zone: Zone, vertex: int) -> str:
    return zone.label(vertex) if vertex < zone.size else f"switch of {zone.name}"


def caption(zone: Zone, hosts: int) -> Words:
    """The name of a zone and what it is."""
    size = f", {hosts:,} hosts" if hosts else ""
    return Words(0, 0, f"{zone.name} ({zone.kind}{size})", bold=True)
