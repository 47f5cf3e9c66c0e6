"""Fat trees, drawn level by level."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tisim.platform.drawing.canvas import Shape, Text, text_width
from tisim.platform.drawing.layout import HOST, Cable, Item, Layout
from tisim.platform.zones.fattree import FatTreeCluster

# Maximum number of individually drawn hosts, of items per level, and of cables between two levels;
# beyond these, the switches of a subtree are merged into one box.
_HOSTS, _ITEMS, _CABLES = 2048, 128, 1500
_PAPER = 1400.0
# Maximum width of a single row of hosts: trees of 64 hosts fit a page.
_ROW = 480.0
_DOT = 2 * HOST + 2
# Distance of two levels: minimum in points, and fraction of the width of the picture.
_LEVEL, _STEEP = 110.0, 0.09
_BOX = 26.0


def draw_fat_tree(zone: FatTreeCluster) -> Layout:
    """Draw the hosts at the bottom and the switches of each level above them.

    Subtrees that are too many to draw individually are merged into one box each.
    """
    return _Levels(zone).layout()


class _Levels:
    def __init__(self, zone: FatTreeCluster) -> None:
        self._zone = zone
        shape = zone.shape
        self._top = len(shape.children)
        # Number of subtrees up to each level, and number of nodes of that level in each subtree.
        self._parts = [math.prod(shape.children[level:]) for level in range(self._top + 1)]
        self._width = [math.prod(shape.parents[:level]) for level in range(self._top + 1)]
        self._base = next(level for level in range(1, self._top + 1) if self._fits(level))
        self._dots = self._base == 1 and zone.hosts <= _HOSTS
        self._items: list[Item] = []
        self._item_of = np.zeros(
            sum(a * b for a, b in zip(self._parts, self._width, strict=True)), dtype=np.int64
        )
        self._captions: list[tuple[float, str]] = []
        self._columns, self._column = self._grid()
        self._level = max(_LEVEL, _STEEP * self._column * self._parts[self._base])

    def _fits(self, level: int) -> bool:
        return level == self._top or self._parts[level] <= _ITEMS

    def _grid(self) -> tuple[int, float]:
        """Return the hosts per row below a base-level switch, and the width of a subtree there."""
        parts = self._parts[self._base]
        if not self._dots:
            return 1, max(14.0, min(90.0, _PAPER / parts))
        hosts = self._zone.hosts // parts
        side = hosts
        if hosts * parts * _DOT > _ROW:
            most = max(math.floor((_ROW / parts - 6) / _DOT), math.ceil(math.sqrt(hosts)))
            side = math.ceil(hosts / math.ceil(hosts / most))  # rows of the same length
        return side, max(side * _DOT + 6, 14.0)

    def layout(self) -> Layout:
        bottom = (self._top - self._base + 1) * self._level + 20
        first = self._hosts(bottom)
        for level in range(1, self._top + 1):
            first = self._switches(level, first, bottom)
        shift = max(text_width(text, 10) for _, text in self._captions) + 16
        items = [item._replace(x=item.x + shift) for item in self._items]
        captions: list[Shape] = [
            Text(0, y + 4, text, 10, colour="#555555") for y, text in self._captions
        ]
        return Layout(items, self._item_of, foreground=captions, route=_cable)

    def _hosts(self, y: float) -> int:
        """Place the hosts, or boxes that represent them; return the number of the next vertex."""
        zone, parts = self._zone, self._parts[self._base]
        each = zone.hosts // parts
        if self._dots:
            for host in range(zone.hosts):
                part, place = divmod(host, each)
                row, column = divmod(place, self._columns)
                # Every other row is shifted by half a step, so that cables can reach it.
                x = part * self._column + (column + 0.5 + row % 2 / 2) * _DOT + 3
                self._items.append(Item(x, y + row * _DOT))
            self._item_of[: zone.hosts] = np.arange(zone.hosts)
            self._captions.append((y, f"{zone.hosts:,} hosts"))
            return zone.hosts
        inner = sum(
            self._parts[level] * self._width[level] // parts for level in range(1, self._base)
        )
        room = self._column - 4
        for part in range(parts):
            x = (part + 0.5) * self._column
            self._items.append(Item(x, y, room, _BOX, inner, f"{each:,}"))
        self._item_of[: zone.hosts] = np.arange(zone.hosts) // each
        if self._base > 1:
            below = "level 1" if self._base == 2 else f"levels 1 to {self._base - 1}"
            switches = "a switch" if inner == 1 else f"{inner:,} switches"
            self._captions.append((y - 20, f"{below} and"))
            each_box = f"{each:,} below {switches} a box"
        else:
            each_box = f"{each:,} a box"
        self._captions.append((y - 6, f"{zone.hosts:,} hosts,"))
        self._captions.append((y + 8, each_box))
        return zone.hosts

    def _switches(self, level: int, first: int, bottom: float) -> int:
        parts, width = self._parts[level], self._width[level]
        vertices = np.arange(parts * width)
        end = first + len(vertices)
        if level < self._base:
            # Inside the boxes of hosts.
            self._item_of[first:end] = vertices // width // (parts // self._parts[self._base])
            return end
        y = bottom - (level - self._base + 1) * self._level
        span = self._column * self._parts[self._base] / parts
        start = len(self._items)
        name = f"level {level}: {parts * width:,} switch{'es' if parts * width > 1 else ''}"
        below = (
            self._parts[level - 1] * self._width[level - 1] * self._zone.shape.parents[level - 1]
        )
        cables = below if level > self._base else 0
        if parts * width <= _ITEMS and cables <= _CABLES:
            for vertex in range(parts * width):
                part, place = divmod(vertex, width)
                self._items.append(Item(span * (part + (place + 0.5) / width), y, switches=1))
            self._item_of[first:end] = start + vertices
            self._captions.append((y, name))
        else:
            for part in range(parts):
                room = min(span - 4, 90.0)
                text = f"{width:,}"
                self._items.append(Item(span * (part + 0.5), y, room, _BOX - 8, width, text))
            self._item_of[first:end] = start + vertices // width
            self._captions.append((y - 6, name + ","))
            self._captions.append((y + 8, f"{width:,} a box"))
        return end


def _cable(items: Sequence[Item], one: int, other: int) -> Cable:
    """Return a cable from the lower edge of the upper item to the upper edge of the lower one."""
    lower, upper = sorted((items[one], items[other]), key=lambda item: -item.y)
    start = (lower.x, lower.y - lower.height / 2)
    return Cable(((start, (upper.x, upper.y + upper.height / 2)),))
