"""Dragonflies, drawn as groups on a circle, with chassis as rows of routers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tisim.platform.drawing.canvas import Area, Shape, Text
from tisim.platform.drawing.layout import HOST, SWITCH, Cable, Item, Layout
from tisim.platform.zones.dragonfly import DragonflyCluster

# Maximum numbers of hosts and of routers that are drawn individually.
_HOSTS, _ROUTERS = 1200, 600
_DOT = 2 * HOST + 1.5
_PAD = 14.0
_HEAD = 16.0
_CABLE_MARGIN = 13.0


def draw_dragonfly(zone: DragonflyCluster) -> Layout:
    """Draw groups on a circle; each row of a group is a chassis with its routers and hosts.

    If there are too many, hosts are merged into their router, routers into their chassis, and
    chassis into their group.
    """
    return _Groups(zone).layout()


class _Groups:
    def __init__(self, zone: DragonflyCluster) -> None:
        self._zone = zone
        shape = self._shape = zone.shape
        self._dots = zone.hosts <= _HOSTS
        #: Number of routers per item, items per row and rows per group.
        self._merged = 1
        self._columns, self._rows = shape.blades, shape.chassis
        if shape.routers > _ROUTERS:
            self._merged, self._columns = shape.blades, 1
            if shape.groups * shape.chassis > _ROUTERS:
                self._merged, self._rows = shape.blades * shape.chassis, 1
        self._beside = math.ceil(math.sqrt(shape.nodes)) if self._dots else 1
        dots = math.ceil(shape.nodes / self._beside) * _DOT if self._dots else 0.0
        if self._merged > 1:
            self._step, self._row = 74.0, 30.0
        else:
            # The cables to routers of other chassis run to the right of the hosts.
            beside = _CABLE_MARGIN if self._rows > 1 else 5
            self._step = max(self._beside * _DOT + beside, 18.0)
            # Space above a row for arcs: the cables between the routers of a chassis.
            self._arcs = 10 + 2.2 * min(self._columns, 8)
            self._row = self._arcs + 2 * SWITCH + dots + 8
        self._width = self._columns * self._step + 2 * _PAD
        self._height = self._rows * self._row + _HEAD + _PAD

    def layout(self) -> Layout:
        shape = self._shape
        corners = self._corners()
        items: list[Item] = []
        background: list[Shape] = []
        captions: list[Shape] = []
        each = self._merged * shape.nodes
        for group, (left, top) in enumerate(corners):
            hosts = shape.hosts // shape.groups
            title = f"group {group}: {shape.routers // shape.groups} routers, {hosts:,} hosts"
            box = Area(left, top, self._width, self._height, "#F7F7F7", "#888888", title=title)
            background.append(box)
            name = f"group {group}"
            captions.append(Text(left + 6, top + 12, name, 10, bold=True, halo="#F7F7F7"))
            for row in range(self._rows):
                for column in range(self._columns):
                    x = left + _PAD + (column + 0.5) * self._step
                    y = top + _HEAD + (row + 0.5) * self._row
                    if self._merged > 1:
                        sides = (self._step - 6, self._row - 8)
                        items.append(Item(x, y, *sides, self._merged, f"{each:,} hosts"))
                    else:
                        y = top + _HEAD + row * self._row + self._arcs
                        items.append(Item(x, y, switches=1))
        router_item = np.arange(shape.routers) // self._merged
        host_item = np.repeat(router_item, shape.nodes)
        if self._dots:
            host_item = len(items) + np.arange(shape.hosts)
            items += [self._host(items[host // shape.nodes], host) for host in range(shape.hosts)]
        return Layout(
            items,
            np.concatenate([host_item, router_item]),
            background=background,
            foreground=captions,
            notes=self._notes(),
            route=self._cable,
        )

    def _corners(self) -> list[tuple[float, float]]:
        """Return the upper left corners of the groups."""
        groups = self._shape.groups
        if groups <= 2:
            return [(group * 1.3 * self._width, 0.0) for group in range(groups)]
        apart = math.hypot(self._width, self._height) * 1.06
        radius = apart / 2 / math.sin(math.pi / groups)
        places = [
            (radius * math.sin(angle), -radius * math.cos(angle))
            for angle in (math.tau * group / groups for group in range(groups))
        ]
        left, top = (min(side) for side in zip(*places, strict=True))
        return [(x - left, y - top) for x, y in places]

    def _host(self, router: Item, host: int) -> Item:
        row, column = divmod(host % self._shape.nodes, self._beside)
        x = router.x + (column - (self._beside - 1) / 2) * _DOT
        return Item(x, router.y + SWITCH + 7 + row * _DOT)

    def _notes(self) -> list[str]:
        notes = ["Squares are routers; a row of them is a chassis."] if self._merged == 1 else []
        if self._merged == self._shape.blades and self._rows > 1:
            notes = [f"A box is a chassis: {self._shape.blades} routers and their hosts."]
        elif self._merged > 1:
            notes = [f"A box holds {self._merged} routers and their hosts."]
        if self._merged == 1 and not self._dots:
            notes.append(f"Each router has {self._shape.nodes} hosts, which are not drawn.")
        return notes

    def _cable(self, items: Sequence[Item], one: int, other: int) -> Cable:
        a, b = items[one], items[other]
        routers = self._shape.routers // self._merged
        in_group = self._rows * self._columns
        if max(one, other) >= routers or one // in_group != other // in_group:
            return Cable((((a.x, a.y), (b.x, b.y)),))
        if self._merged > 1:
            bend = 6 + 0.25 * abs(b.y - a.y)
            side = a.x + a.width / 2
            between = (side + bend, (a.y + b.y) / 2)
            return Cable((((side, a.y), between, (side, b.y)),), curved=True)
        if a.y == b.y:
            bend = 6 + 2 * self._arcs * abs(b.x - a.x) / (self._columns * self._step)
            return Cable((((a.x, a.y), ((a.x + b.x) / 2, a.y - bend), (b.x, b.y)),), curved=True)
        side = a.x + SWITCH
        bend = _CABLE_MARGIN + 3 * min(abs(b.y - a.y) / self._row - 1, 3)
        return Cable((((side, a.y), (side + bend, (a.y + b.y) / 2), (side, b.y)),), curved=True)
