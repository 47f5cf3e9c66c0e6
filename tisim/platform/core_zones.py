"""The zones of a platform in the core's form; the core computes their routes."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Collection
from typing import TYPE_CHECKING

from tisim import _core
from tisim.platform.hosts import NumberedHosts
from tisim.platform.zones.cluster import ClusterZone
from tisim.platform.zones.dragonfly import DragonflyCluster
from tisim.platform.zones.fattree import FatTreeCluster
from tisim.platform.zones.flat import FlatCluster
from tisim.platform.zones.star import StarZone, VivaldiZone
from tisim.platform.zones.table import DijkstraZone, FloydZone, TableZone
from tisim.platform.zones.torus import TorusCluster

if TYPE_CHECKING:
    from tisim.platform.topology import Topology
    from tisim.platform.zones.base import LocalRoute, Point, Zone

    #: Index of a zone in the tree and of a vertex in it; (-1, -1) if none.
    Place = tuple[int, int]

_NONE = (-1, -1)


def has_core() -> bool:
    """Return True if the core is installed, False if `tisim.support.missing_core` replaces it."""
    return hasattr(_core, "VERIFIES")


def core_zones(topology: Topology) -> _core.ZoneTree:
    """Return the zones of a topology and the positions of its hosts in them, for the core."""
    zones = [] if topology.root is None else topology.root.walk()
    return _Compiler(zones).tree(topology)


class _Compiler:
    """Numbers the zones and creates the core's counterparts.

    Parameters
    ----------
    zones
        All zones, outer ones first.
    """

    def __init__(self, zones: list[Zone]) -> None:
        self._zones = zones
        self._numbers = {zone: number for number, zone in enumerate(zones)}

    def tree(self, topology: Topology) -> _core.ZoneTree:
        return _core.ZoneTree(
            [self._zone(zone) for zone in self._zones],
            len(topology.hosts),
            self._runs(topology),
            [self._bypasses(zone) for zone in self._zones if zone.bypasses],
        )

    def _place(self, point: Point | None) -> Place:
        return _NONE if point is None else (self._numbers[point[0]], point[1])

    def _runs(self, topology: Topology) -> list[tuple[int, Place]]:
        """Return the start of each run of hosts that are consecutive vertices of one zone."""
        runs: list[tuple[int, Place]] = []
        for first, block in topology.hosts.blocks():
            if isinstance(block, NumberedHosts):
                runs.append((first, (self._numbers[block.zone], 0)))
                continue
            before: Point | None = None
            for position in range(len(block)):
                point = block.point(position)
                if before is None or before[0] is not point[0] or before[1] + 1 != point[1]:
                    runs.append((first + position, self._place(point)))
                before = point
        return runs

    def _bypasses(self, zone: Zone) -> _core.Bypasses:
        return _core.Bypasses(
            self._numbers[zone],
            [self._place(src) for src, _ in zone.bypasses],
            [self._place(dst) for _, dst in zone.bypasses],
            self._declared(zone.bypasses.values()),
        )

    def _declared(self, routes: Collection[LocalRoute]) -> _core.DeclaredRoutes:
        ends = any(route.gw_src is not None or route.gw_dst is not None for route in routes)
        lengths = (len(route.links) for route in routes)
        return _core.DeclaredRoutes(
            array("q", itertools.accumulate(lengths, initial=0)),
            array("i", itertools.chain.from_iterable(route.links for route in routes)),
            [self._place(route.gw_src) for route in routes] if ends else [],
            [self._place(route.gw_dst) for route in routes] if ends else [],
        )

    def _zone(self, zone: Zone) -> _core.Zone:
        place = _NONE if zone.parent is None else self._place(zone.point)
        if isinstance(zone, ClusterZone):
            return _cluster(zone, place)
        if isinstance(zone, StarZone):
            return self._star(zone, place)
        if isinstance(zone, TableZone):
            return self._table(zone, place)
        return _core.UnroutedZone(place, zone.size)

    def _star(self, zone: StarZone, place: Place) -> _core.Zone:
        vertices = range(zone.size)
        links = [zone.links_of(vertex) for vertex in vertices]
        if not isinstance(zone, VivaldiZone):
            return _core.StarZone(place, links)
        return _core.VivaldiZone(
            place,
            links,
            [zone.coordinates.get(vertex) for vertex in vertices],
            [self._place(zone.gateways.get(vertex)) for vertex in vertices],
        )

    def _table(self, zone: TableZone, place: Place) -> _core.Zone:
        make: type[_core.FullZone | _core.FloydZone | _core.DijkstraZone] = _core.FullZone
        if isinstance(zone, FloydZone):
            make = _core.FloydZone
        elif isinstance(zone, DijkstraZone):
            make = _core.DijkstraZone
        return make(
            place,
            zone.size,
            array("i", [src for src, _ in zone.routes]),
            array("i", [dst for _, dst in zone.routes]),
            self._declared(zone.routes.values()),
        )


def _cluster(zone: ClusterZone, place: Place) -> _core.Zone:
    """Return a cluster for the core, which computes all its routes from a few numbers."""
    spec = zone.spec
    links = _core.ClusterLinks(
        zone.first_link,
        loopback=spec.loopback is not None,
        limiter=spec.limiter is not None,
        is_split=spec.split,
    )
    if isinstance(zone, FlatCluster):
        return _core.FlatCluster(place, links, zone.hosts, spec.backbone is not None)
    if isinstance(zone, TorusCluster):
        return _core.TorusCluster(place, links, zone.sizes)
    if isinstance(zone, FatTreeCluster):
        return _core.FatTreeCluster(place, links, *zone.shape, zone.hosts_before)
    if isinstance(zone, DragonflyCluster):
        shape = zone.shape
        sizes = shape.groups, shape.chassis, shape.blades, shape.nodes
        return _core.DragonflyCluster(place, links, *sizes)
    return _core.UnroutedZone(place, zone.size)
