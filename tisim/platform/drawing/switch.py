"""Hosts around one switch or backbone: rows on a comb."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from tisim.platform.drawing.canvas import Shape, Stroke
from tisim.platform.drawing.layout import HOST, Cable, Item, Layout

# With more hosts consecutive ones become one box.
_HOSTS = 1200
_BOXES = 200
_STEP, _ROW = 16.0, 26.0
_WIDE_STEP = 44.0
_HUB = 10.0


def draw_comb(hosts: int) -> Layout:
    """Hosts in rows, each row on a wire to a switch at the left, which is the last vertex.

    Parameters
    ----------
    hosts
        How many vertices there are beside the switch.
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
    """From a host up to the wire of its row."""

    def route(items: Sequence[Item], one: int, other: int) -> Cable:
        host = items[min(one, other)]
        edge = host.y - (host.height / 2 if host.height else HOST)
        wire = math.floor((host.y - 1) / row) * row + 4
        return Cable((((host.x, edge), (host.x, wire)),))

    return route
