"""Clusters whose hosts form a torus of any number of dimensions: topology TORUS."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tisim.platform.zones.base import LocalRoute, Zone
from tisim.platform.zones.cluster import Band, BandedLinks, ClusterSpec, ClusterZone

if TYPE_CHECKING:
    from tisim.platform.zones.cluster import Wiring


def parse_torus(text: str) -> tuple[int, ...]:
    """Parse ``topo_parameters`` of a torus: the number of hosts in each dimension, ``8,8,4``.

    Raises ValueError for anything else, as the parsers of the other topologies do.
    """
    try:
        sizes = tuple(int(part) for part in text.split(","))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1:
        raise ValueError(
            "topo_parameters of a torus must be the sizes of its dimensions, such as 8,8,4, not "
            f"{text!r}"
        )
    return sizes


class TorusCluster(ClusterZone):
    """In each dimension, host i owns the cable to its next neighbour, with wrap-around.

    Messages use dimension-ordered routing, in one direction per dimension.
    """

    kind = "Torus"

    def __init__(
        self, spec: ClusterSpec, parent: Zone | None, first_link: int, sizes: tuple[int, ...]
    ) -> None:
        super().__init__(spec, parent, first_link)
        self.sizes = sizes
        self._strides = tuple(math.prod(sizes[:d]) for d in range(len(sizes)))
        self._row = self._own + self._wires * len(sizes)

    def make_links(self) -> BandedLinks:
        spec = self.spec
        columns = self._own_links() + self._pair(spec.link) * len(self.sizes)
        return BandedLinks([Band(self.hosts, columns, self._name)], (f"{spec.name}_link_",))

    def wiring(self) -> Wiring:
        import numpy as np

        hosts = np.arange(self.hosts)
        ends, links = [], []
        for dimension, (size, stride) in enumerate(zip(self.sizes, self._strides, strict=True)):
            place = hosts // stride % size
            # No message uses the wrap-around cable of a ring of one or two hosts.
            used = hosts[place < size - 1] if size <= 2 else hosts
            step = np.where(place == size - 1, (1 - size) * stride, stride)[used]
            ends.append((used, used + step))
            column = self._own + self._wires * dimension
            links.append(self.first_link + used * self._row + column)
        lower, upper = (np.concatenate(side) for side in zip(*ends, strict=True))
        return self._wired(lower, upper, np.concatenate(links), self._row)

    def _name(self, host: int, column: int) -> str:
        if column < self._own:
            return self._own_name(host, column)
        dimension, wire = divmod(column - self._own, self._wires)
        neighbour = self._next(host, dimension)
        return f"{self.spec.name}_link_from_{host}_to_{neighbour}{self._direction(wire)}"

    def _next(self, host: int, dimension: int) -> int:
        size, stride = self.sizes[dimension], self._strides[dimension]
        at_end = host // stride % size == size - 1
        return host - (size - 1) * stride if at_end else host + stride

    def local_route(self, src: int, dst: int) -> LocalRoute:
        base, row = self.first_link, self._row
        if src == dst and self.spec.loopback is not None:
            return LocalRoute((base + src * row,))
        links: list[int] = []
        host = src
        for dimension, (size, stride) in enumerate(zip(self.sizes, self._strides, strict=True)):
            start, goal = src // stride % size, dst // stride % size
            if start == goal:
                continue
            rightwards = _rightwards(start, goal, size)
            hops = (goal - start if rightwards else start - goal) % size
            host = self._travel(links, host, dimension, hops, rightwards)
        if self._limiter is not None:
            links.append(base + dst * row + self._limiter)
        return LocalRoute(links)

    def _travel(
        self, links: list[int], host: int, dimension: int, hops: int, rightwards: bool
    ) -> int:
        """Append the links of some hops along one dimension; return the last host."""
        size, stride, row = self.sizes[dimension], self._strides[dimension], self._row
        column = self.first_link + self._own + self._wires * dimension
        if not rightwards:
            column += self._wires - 1
        at = host // stride % size
        foot = host - at * stride
        ahead = 1 if rightwards else -1
        # A cable belongs to the host at its left end.
        owners = range(at, at + hops) if rightwards else range(at - 1, at - 1 - hops, -1)
        cables = [column + (foot + owner % size * stride) * row for owner in owners]
        if self._limiter is None:
            links += cables
        else:
            limiter = self.first_link + self._limiter
            for step, cable in enumerate(cables):
                passed = foot + (at + ahead * step) % size * stride
                links += (limiter + passed * row, cable)
        return foot + (at + ahead * hops) % size * stride


def _rightwards(start: int, goal: int, size: int) -> bool:
    """Return True if a message travels a ring with ascending numbers; ties as in SimGrid."""
    half = size // 2
    if start < goal <= start + half:
        return True
    return start > half and (start + half) % size >= goal
