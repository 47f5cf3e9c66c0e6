"""Base class of all zones: position in the zone tree, vertices, bypass routes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import TypeAlias

    #: A host, router or zone: the zone that contains it and its number there.
    Point: TypeAlias = "tuple[Zone, int]"
    #: A term of a route's latency: the latency of a link (its index), or a number of seconds.
    Term: TypeAlias = "int | float"


class LocalRoute(NamedTuple):
    """The part of a route within one zone.

    Attributes
    ----------
    links
        Indices of the links, in the order in which a message crosses them.
    gw_src, gw_dst
        Between zones: the points where the part starts (in the source's zone) and ends.
    terms
        Terms of its latency in SimGrid's order of summation, which determines the last bit; if
        None, the links in their order.
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
    """Two points have no route between them; the text gives the reason."""


class Zone:
    """A part of the platform with its own routing.

    Parameters
    ----------
    name
        Name of the zone.
    parent
        The zone around it, None for the outermost one.
    """

    kind = "None"
    #: True if routes inside this zone are prepended to the links collected so far.
    prepends = False

    def __init__(self, name: str, parent: Zone | None) -> None:
        self.name = name
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        #: Direct child zones. A zone contains either zones or hosts and routers, so a child's
        #: vertex number is its position here.
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
        """Add a host, router or zone to this zone and return its vertex number."""
        self._labels.append(label)
        return len(self._labels) - 1

    @property
    def size(self) -> int:
        """Number of vertices: hosts, routers and zones directly in this zone."""
        return len(self._labels)

    def label(self, local: int) -> str:
        """Return the name of a vertex."""
        return self._labels[local]

    @property
    def point(self) -> Point:
        """The zone as a vertex of its parent."""
        if self.parent is None:
            raise ValueError(f"zone {self.name} is not in another zone")
        return self.parent, self.local

    def contains(self, point: Point) -> bool:
        """Return True if a point is in this zone, at any depth."""
        zone: Zone | None = point[0]
        while zone is not None and zone.depth > self.depth:
            zone = zone.parent
        return zone is self

    def local_route(self, src: int, dst: int) -> LocalRoute:
        """Return the route between two vertices of this zone; raise `NoRoute` if there is none."""
        raise NoRoute(f"zone {self.name} has no routing (routing=None)")

    def walk(self) -> list[Zone]:
        """Return the zone itself and all zones in it, outer zones first."""
        zones = [self]
        for zone in zones:
            zones.extend(zone.children)
        return zones
