"""Zones in which every vertex has its own links up to a centre and down from it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from tisim.platform.zones.base import LocalRoute, NoRoute, Zone

if TYPE_CHECKING:
    from tisim.platform.zones.base import Point


class VertexLinks(NamedTuple):
    """The links of one vertex of a star: up to the centre, down from it, to itself."""

    up: tuple[int, ...] = ()
    down: tuple[int, ...] = ()
    loopback: tuple[int, ...] | None = None


class StarZone(Zone):
    """A zone made of ``host_link``, ``cabinet`` and ``backbone`` (routing Cluster).

    A link on both the path up and the path down is taken once.
    """

    kind = "Cluster"

    def __init__(self, name: str, parent: Zone | None) -> None:
        super().__init__(name, parent)
        self.vertex_links: dict[int, VertexLinks] = {}
        #: The link between the up and down links of every vertex; may be empty.
        self.backbone: tuple[int, ...] = ()

    def links_of(self, local: int) -> VertexLinks:
        """Return the links of a vertex; none if it has no ``host_link``."""
        return self.vertex_links.get(local, _NO_LINKS)

    def local_route(self, src: int, dst: int) -> LocalRoute:
        up, _, loopback = self.links_of(src)
        if src == dst and loopback is not None:
            return LocalRoute(loopback)
        return LocalRoute(tuple(dict.fromkeys(up + self.links_of(dst).down)))


_NO_LINKS = VertexLinks()


class VivaldiZone(StarZone):
    """Peers with coordinates: the latency is a distance (Dabek et al., SIGCOMM 2004).

    Between points (x, y, z) of the source and the destination, in milliseconds, it is
    ``hypot(x1 - x2, y1 - y2) + |z1| + |z2|``; z is the latency of access to the network. A zone
    inside has the coordinates of its gateway, the router ``router_<zone>``.
    """

    kind = "Vivaldi"

    def __init__(self, name: str, parent: Zone | None) -> None:
        super().__init__(name, parent)
        self.coordinates: dict[int, tuple[float, float, float]] = {}
        #: Gateway router of each zone inside.
        self.gateways: dict[int, Point] = {}

    def local_route(self, src: int, dst: int) -> LocalRoute:
        links = super().local_route(src, dst).links
        terms = (*links, self._distance(src, dst) / 1000.0)
        return LocalRoute(links, self.gateways.get(src), self.gateways.get(dst), terms)

    def _distance(self, src: int, dst: int) -> float:
        for vertex in (src, dst):
            if vertex not in self.coordinates:
                missing = f"a router router_{self.label(vertex)} with " if self.children else ""
                raise NoRoute(
                    f"{self.label(vertex)} in zone {self.name} (Vivaldi) has no {missing}"
                    "coordinates"
                )
        x1, y1, z1 = self.coordinates[src]
        x2, y2, z2 = self.coordinates[dst]
        return math.sqrt((x1 - x2) * (x1 - x2) + (y1 - y2) * (y1 - y2)) + abs(z1) + abs(z2)
