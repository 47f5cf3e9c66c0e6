"""Base of all zones: a place in the tree of zones, vertices, bypass routes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import TypeAlias

    #: A host, router or zone: the zone that holds it and its number in there.
    Point: TypeAlias = "tuple[Zone, int]"
    #: A part of a route's latency: that of a link, given by index, or a number of seconds.
    Term: TypeAlias = "int | float"


class LocalRoute(NamedTuple):
    """The part of a route that lies in one zone.

    Attributes
    ----------
    links
        Indices of the links, in the order in which a message takes them.
    gw_src, gw_dst
        Between zones: the points where the part begins (in the source's zone) and ends.
    terms
        What its latency is the sum of, in the order of SimGrid's addition, which decides the last
        bit; when None, the links in their order.
    """

    links: Sequence[int]
    gw_src: Point | None = None
    gw_dst: Point | None = None
    terms: Sequence[Term] | None = None

    @property
    def summands(self) -> Sequence[Term]:
        """The terms of the latency, in the order of their addition."""
        return self.links if self.terms is None else self.terms


class NoRoute(Exception):  # noqa: N818 (a fact about a pair; callers word the error)
    """Two points have no route between them; the text says why."""


class Zone:
    """A part of the platform with a routing of its own.

    Parameters
    ----------
    name
        Name of the zone.
    parent
        The zone around it, None for the outermost one.
    """

    kind = "None"
    #: True if routes inside this zone are put before the links of the way so far.
    prepends = False

    def __init__(self, name: str, parent: Zone | None) -> None:
        self.name = name
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        #: Zones right in this one. A zone holds either zones or hosts and routers, so that the
        #: number of a child among the vertices is its position here.
        self.children: list[Zone] = []
        #: Number of this zone among the vertices of its parent.
        self.local: int = -1 if parent is None else parent.add_vertex(name)
        self.properties: dict[str, str] = {}
        self.bypasses: dict[tuple[Point, Point], LocalRoute] = {}
        #: Vertices that are routers.
        self.routers: set[int] = set()
        self._labels: list[str] = []
        if parent is not None:
            parent.children.append(self)

    def add_vertex(self, label: str) -> int:
        """Number one more host, router or zone in this zone."""
        self._labels.append(label)
        return len(self._labels) - 1

    @property
    def size(self) -> int:
        """Number of vertices: hosts, routers and zones directly in this zone."""
        return len(self._labels)

    def label(self, local: int) -> str:
        """Name of a vertex."""
        return self._labels[local]

    @property
    def point(self) -> Point:
        """The zone as a vertex of its parent."""
        if self.parent is None:
            raise ValueError(f"zone {self.name} is in no other zone")
        return self.parent, self.local

    def contains(self, point: Point) -> bool:
        """True if a point lies in this zone, at any depth."""
        zone: Zone | None = point[0]
        while zone is not None and zone.depth > self.depth:
            zone = zone.parent
        return zone is self

    def local_route(self, src: int, dst: int) -> LocalRoute:
        """The route between two vertices of this zone; raises `NoRoute` if there is none."""
        raise NoRoute(f"zone {self.name} has no routing (routing=None)")

    def walk(self) -> list[Zone]:
        """The zone itself and all zones in it, outer zones first."""
        zones = [self]
        for zone in zones:
            zones.extend(zone.children)
        return zones
