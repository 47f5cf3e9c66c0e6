"""Positions of a cluster's hosts and switches, merged into items if there are many."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tisim.platform.drawing.canvas import Shape, Stroke

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tisim.platform.zones.cluster import Integers

    Point = tuple[float, float]

#: Half the side of a switch, and the radius of a host, in points.
SWITCH, HOST = 4.5, 3.5


class Item(NamedTuple):
    """One item of a drawing: a host, a switch, or several of them as one box.

    Attributes
    ----------
    x, y
        Its centre.
    width, height
        Size of a box; 0 for a single host or switch.
    switches
        Number of switches that it represents.
    text
        Text in a box, if there is room.
    """

    x: float
    y: float
    width: float = 0.0
    height: float = 0.0
    switches: int = 0
    text: str = ""


class Cable(NamedTuple):
    """The links between two items, drawn as one or more strokes."""

    lines: tuple[tuple[Point, ...], ...]
    curved: bool = False


def straight(items: Sequence[Item], one: int, other: int) -> Cable:
    """Return a cable from centre to centre."""
    a, b = items[one], items[other]
    return Cable((((a.x, a.y), (b.x, b.y)),))


@dataclass(slots=True)
class Layout:
    """Layout of a cluster; its corner is the origin.

    Attributes
    ----------
    items
        The drawn items.
    item_of
        The item of each vertex of the cluster's `Wiring`: hosts first, then switches.
    background
        Drawn below the cables.
    foreground
        Drawn above everything: captions.
    notes
        Notes for the reader.
    route
        Function that returns the cable between two items.
    """

    items: list[Item]
    item_of: Integers
    background: list[Shape] = field(default_factory=list)
    foreground: list[Shape] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    route: Callable[[Sequence[Item], int, int], Cable] = straight


class Bundle(NamedTuple):
    """All links between two items (or within one if they are the same), by index."""

    one: int
    other: int
    links: Integers


def bundles(item_of: Integers, tails: Integers, heads: Integers, links: Integers) -> list[Bundle]:
    """Group the links of a wiring by the pair of items that they connect."""
    ends: NDArray[np.int64] = np.sort(np.stack([item_of[tails], item_of[heads]]), axis=0)
    order = np.lexsort((links, ends[1], ends[0]))
    ends, links = ends[:, order], links[order]
    changes = np.nonzero((ends[:, 1:] != ends[:, :-1]).any(axis=0))[0] + 1
    starts = [0, *changes.tolist()] if len(links) else []
    stops = [*changes.tolist(), len(links)]
    return [
        Bundle(int(ends[0, start]), int(ends[1, start]), np.unique(links[start:stop]))
        for start, stop in zip(starts, stops, strict=False)
    ]


def strokes(cable: Cable, colour: str, width: float, title: str) -> list[Stroke]:
    """Return the strokes of a cable."""
    return [Stroke(line, colour, width, title, cable.curved) for line in cable.lines]


# Maximum number of individually drawn hosts; beyond, consecutive hosts are merged into boxes.
_HOSTS = 1200
_BOXES = 200
_STEP, _ROW = 16.0, 26.0
_WIDE_STEP = 44.0
_HUB = 10.0


def draw_comb(hosts: int) -> Layout:
    """Draw rows of hosts, each row wired to a switch at the left, which is the last vertex.

    `hosts`: number of vertices excluding the switch.
    """
    each = 1 if hosts <= _HOSTS else math.ceil(hosts / _BOXES)
    count = math.ceil(hosts / each)
    step = _STEP if each == 1 else _WIDE_STEP
    row = _ROW if each == 1 else _ROW + 10
    columns = max(math.ceil(math.sqrt(count * row / step * 1.5)), 1)
    rows = math.ceil(count / columns)
    left = _HUB + 10
    items = []
    for place in range(count):
        line, column = divmod(place, columns)
        number = min(each, hosts - place * each)
        sides = (0.0, 0.0) if each == 1 else (step - 6, 18.0)
        text = "" if each == 1 else f"{number:,}"
        x, y = left + (column + 0.5) * step, line * row + row * 0.55 + sides[1] / 4
        items.append(Item(x, y, *sides, text=text))
    height = rows * row
    items.append(Item(_HUB / 2, height / 2, _HUB, height - 4, 1))
    background: list[Shape] = []
    for line in range(rows):
        filled = min(columns, count - line * columns)
        end = left + (filled - 0.5) * step
        wire = ((_HUB, line * row + 4), (end, line * row + 4))
        background.append(Stroke(wire, "#BBBBBB", 1.0))
    item_of = np.append(np.arange(hosts) // each, len(items) - 1)
    notes = [f"A box is up to {each} hosts."] if each > 1 else []
    return Layout(items, item_of, background=background, notes=notes, route=_tooth(row))


def _tooth(row: float) -> Callable[[Sequence[Item], int, int], Cable]:
    """Route cables from a host up to the wire of its row."""

    def route(items: Sequence[Item], one: int, other: int) -> Cable:
        host = items[min(one, other)]
        edge = host.y - (host.height / 2 if host.height else HOST)
        wire = math.floor((host.y - 1) / row) * row + 4
        return Cable((((host.x, edge), (host.x, wire)),))

    return route
