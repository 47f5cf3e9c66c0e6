"""Clusters whose hosts are the leaves of a fat tree: topology FAT_TREE.

Parallel-ports generalised fat trees with D-mod-K routing (Zahavi, "Fat-tree routing and node
ordering providing contention free traffic for MPI global collectives", JPDC 2012).
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, NamedTuple

from tisim.platform.zones.base import LocalRoute, Zone
from tisim.platform.zones.cluster import Band, BandedLinks, ClusterSpec, ClusterZone

if TYPE_CHECKING:
    from tisim.platform.zones.cluster import Integers, Wiring


class FatTreeShape(NamedTuple):
    """Per level, from the hosts up: children per switch, parents per node, ports per pair."""

    children: tuple[int, ...]
    parents: tuple[int, ...]
    ports: tuple[int, ...]

    @property
    def hosts(self) -> int:
        """Number of leaves."""
        return math.prod(self.children)

    def radices(self, level: int) -> tuple[int, ...]:
        """Return the number of values of each digit of a label at a level (0: the hosts)."""
        return self.parents[:level] + self.children[level:]


def parse_fat_tree(text: str) -> FatTreeShape:
    """Read ``topo_parameters``: levels; children; parents; ports, as in ``2;4,4;1,2;1,2``."""
    wanted = (
        "topo_parameters of a fat tree must be its levels, then for each level the children, "
        f"parents and parallel ports, such as 2;4,4;1,2;1,2, not {text!r}"
    )
    parts = text.split(";")
    if len(parts) != 4:
        raise ValueError(wanted)
    try:
        levels = int(parts[0])
        rows = [tuple(int(number) for number in part.split(",")) for part in parts[1:]]
    except ValueError:
        raise ValueError(wanted) from None
    if levels < 1 or any(len(row) != levels or min(row) < 1 for row in rows):
        raise ValueError(wanted)
    return FatTreeShape(*rows)


class FatTreeCluster(ClusterZone):
    """Nodes are labelled by digits; a cable joins labels that differ only in its level's digit.

    Parameters
    ----------
    spec, parent, first_link
        As in any cluster.
    shape
        Levels, children, parents and ports.
    hosts_before, cables_before
        Totals of the fat trees declared earlier in the platform. SimGrid counts across all of
        them, which shifts the choice among parallel cables and appears in link names.
    """

    kind = "FatTree"

    def __init__(
        self,
        spec: ClusterSpec,
        parent: Zone | None,
        first_link: int,
        shape: FatTreeShape,
        hosts_before: int,
        cables_before: int,
    ) -> None:
        super().__init__(spec, parent, first_link)
        self.shape = shape
        self.hosts_before = hosts_before
        self._cables_before = cables_before
        self._levels = len(shape.children)
        nodes = [math.prod(shape.radices(level)) for level in range(self._levels + 1)]
        # Switches and cables are numbered level by level, and by position in a level.
        self._switches_below = [sum(nodes[1:level]) for level in range(1, self._levels + 2)]
        fan = [p * q for p, q in zip(shape.parents, shape.ports, strict=True)]
        cables = [count * width for count, width in zip(nodes[:-1], fan, strict=True)]
        self._cables_below = [sum(cables[:level]) for level in range(self._levels + 1)]
        self._fan = fan
        self._first_switch = first_link + self.hosts * self._own
        switch_links = 0 if spec.limiter is None else sum(nodes[1:])
        self._first_cable = self._first_switch + switch_links
        self._strides = [
            tuple(math.prod(shape.radices(level)[:digit]) for digit in range(self._levels))
            for level in range(self._levels + 1)
        ]

    @property
    def cables(self) -> int:
        """Number of cables of the whole tree."""
        return self._cables_below[-1]

    def make_links(self) -> BandedLinks:
        spec = self.spec
        limiters = () if spec.limiter is None else (spec.limiter,)
        bands = [
            Band(self.hosts, self._own_links(), self._own_name),
            Band(self._switches_below[-1], limiters, self._switch_limiter_name),
            Band(self.cables, self._pair(spec.link), self._cable_name),
        ]
        return BandedLinks(bands, (f"{spec.name}_link_", "link_from_"))

    def switch_name(self, switch: int) -> str:
        level = next(i for i, below in enumerate(self._switches_below[1:], 1) if switch < below)
        return f"switch {switch - self._switches_below[level - 1]} of level {level}"

    def wiring(self) -> Wiring:
        import numpy as np

        lower, upper, links = [], [], []
        for level in range(self._levels):
            count = (self._cables_below[level + 1] - self._cables_below[level]) // self._fan[level]
            children, ports = np.divmod(np.arange(count * self._fan[level]), self._fan[level])
            # The parent's label differs only in the digit of this level.
            below = math.prod(self.shape.parents[:level])
            rest, low = np.divmod(children, below)
            high = rest // self.shape.children[level]
            digit = ports // self.shape.ports[level]
            parents = low + below * (digit + self.shape.parents[level] * high)
            lower.append(self._vertices(level, children))
            upper.append(self._vertices(level + 1, parents))
            cables = self._cables_below[level] + children * self._fan[level] + ports
            links.append(self._first_cable + cables * self._wires)
        ends = np.concatenate(lower), np.concatenate(upper)
        return self._wired(*ends, np.concatenate(links), self._own, self._switches_below[-1])

    def _vertices(self, level: int, positions: Integers) -> Integers:
        """Return the vertex numbers of a level's nodes among hosts and switches."""
        if level == 0:
            return positions
        return self.hosts + self._switches_below[level - 1] + positions

    def _switch_limiter_name(self, switch: int, column: int) -> str:
        return f"{self.spec.name}_link_{self._switch_id(switch)}_limiter"

    def _switch_id(self, switch: int) -> int:
        return 2 * self.hosts - 1 - switch

    def _node_id(self, level: int, position: int) -> int:
        if level == 0:
            return position
        return self._switch_id(self._switches_below[level - 1] + position)

    def _cable_name(self, cable: int, column: int) -> str:
        level = next(i for i in range(self._levels) if cable < self._cables_below[i + 1])
        child, port = divmod(cable - self._cables_below[level], self._fan[level])
        parent_digit = port // self.shape.ports[level]
        label = self._label(level, child)
        label[level] = parent_digit
        parent = self._position(level + 1, label)
        ends = f"{self._node_id(level, child)}_{self._node_id(level + 1, parent)}"
        return f"link_from_{ends}_{self._cables_before + cable}{self._direction(column)}"

    def _label(self, level: int, position: int) -> list[int]:
        digits = []
        for radix in self.shape.radices(level):
            position, digit = divmod(position, radix)
            digits.append(digit)
        return digits

    def _position(self, level: int, label: list[int]) -> int:
        return sum(map(operator.mul, label, self._strides[level]))

    def _limiter_of(self, level: int, label: list[int]) -> int:
        position = self._position(level, label)
        if level == 0:
            return self.first_link + position * self._own + (self._limiter or 0)
        return self._first_switch + self._switches_below[level - 1] + position

    def _cable(self, level: int, child: list[int], parent_digit: int, port: int) -> int:
        """Return the upward link index of a cable from a node of `level` to one above it."""
        row = self._cables_below[level] + self._position(level, child) * self._fan[level]
        row += parent_digit * self.shape.ports[level] + port
        return self._first_cable + row * self._wires

    def local_route(self, src: int, dst: int) -> LocalRoute:
        if src == dst and self.spec.loopback is not None:
            return LocalRoute((self.first_link + src * self._own,))
        links: list[int] = []
        goal = self._label(0, dst)
        label = self._label(0, src)
        level = self._climb(links, label, goal, dst)
        self._descend(links, level, label, goal, src)
        if self._limiter is not None:
            links.append(self._limiter_of(0, goal))
        return LocalRoute(links)

    def _climb(self, links: list[int], label: list[int], goal: list[int], dst: int) -> int:
        """Go up from a host until the goal is below; leaves the switch in `label`."""
        level = 0
        spread = dst + self.hosts_before
        while level == 0 or label[level:] != goal[level:]:
            if self._limiter is not None:
                links.append(self._limiter_of(level, label))
            port, parent_digit = divmod(spread % self._fan[level], self.shape.parents[level])
            links.append(self._cable(level, label, parent_digit, port))
            label[level] = parent_digit
            spread //= self.shape.parents[level]
            level += 1
        return level

    def _descend(
        self, links: list[int], level: int, label: list[int], goal: list[int], src: int
    ) -> None:
        """Go down to the goal; each level continues the port count of the level above."""
        down = self._wires - 1
        spread = src + self.hosts_before
        candidate = 0
        fresh = True
        while level > 0:
            children = self.shape.children[level - 1]
            ports = self.shape.ports[level - 1]
            if fresh:
                candidate = spread % ports * children
            # The next port to the goal's child, if any is left.
            candidate += (goal[level - 1] - candidate) % children
            fresh = candidate >= children * ports
            if fresh:
                continue
            parent_digit = label[level - 1]
            limiter = None if self._limiter is None else self._limiter_of(level, label)
            label[level - 1] = goal[level - 1]
            port = candidate // children
            links.append(self._cable(level - 1, label, parent_digit, port) + down)
            if limiter is not None:
                links.append(limiter)
            level -= 1
            candidate += 1
