"""Parts of routes as arrays, and which hosts' routes can be composed of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tisim.platform.hosts import ListedHosts, NumberedHosts
from tisim.platform.routing import add_up
from tisim.platform.zones.flat import FlatCluster
from tisim.platform.zones.star import StarZone, VivaldiZone
from tisim.platform.zones.table import TableZone

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tisim.platform.topology import Topology
    from tisim.platform.zones.base import Term, Zone


class SegmentWriter:
    """Collects segments: lists of links, each with its latency. Segment 0 is the empty one."""

    def __init__(self, link_latency: NDArray[np.float64]) -> None:
        self._link_latency = link_latency
        self._lengths: list[NDArray[np.int64]] = []
        self._links: list[NDArray[np.int32]] = []
        self._latencies: list[NDArray[np.float64]] = []
        self._count = 0
        self.add(())

    def add(self, links: Sequence[int], terms: Sequence[Term] | None = None) -> int:
        """Add one segment; its latency is the sum of `terms`, of the links' when not given."""
        latency = add_up(links if terms is None else terms, self._link_latency)
        self._links.append(np.array(links, dtype=np.int32))
        self._lengths.append(np.array([len(links)]))
        self._latencies.append(np.array([latency]))
        self._count += 1
        return self._count - 1

    def add_rows(self, rows: NDArray[np.int64]) -> int:
        """Add a segment for each row of link indices; returns the number of the first."""
        count, length = len(rows), rows.shape[1]
        self._links.append(rows.astype(np.int32).ravel())
        self._lengths.append(np.full(count, length))
        self._latencies.append(self._link_latency[rows].sum(axis=1))
        self._count += count
        return self._count - count

    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Offsets (segments + 1), links, and latencies in seconds (segments)."""
        offsets = np.zeros(self._count + 1, dtype=np.int64)
        np.cumsum(np.concatenate(self._lengths), out=offsets[1:])
        return offsets, np.concatenate(self._links), np.concatenate(self._latencies)


@dataclass(frozen=True, slots=True)
class Group:
    """Hosts whose routes differ only in their own links.

    Attributes
    ----------
    middle
        Links between two different hosts of the group, apart from their own.
    host
        Index of one of the hosts.
    up, down
        The own links of that host.
    """

    middle: tuple[int, ...]
    host: int
    up: tuple[int, ...]
    down: tuple[int, ...]

    def strip(self, links: list[int], dst: Group) -> list[int] | None:
        """A route from `host` to that of `dst` without their own links, None if it lacks them."""
        last = len(links) - len(dst.down)
        begins = tuple(links[: len(self.up)]) == self.up
        if not begins or last < len(self.up) or tuple(links[last:]) != dst.down:
            return None
        return links[len(self.up) : last]


@dataclass(frozen=True, eq=False, slots=True)
class Composition:
    """For each host its group (-1: none) and its segments up, down and to itself (-1: none)."""

    group: NDArray[np.int32]
    up: NDArray[np.int32]
    down: NDArray[np.int32]
    loopback: NDArray[np.int32]
    groups: list[Group]


def compose(topology: Topology, writer: SegmentWriter) -> Composition:
    """Group the hosts of clusters and stars, and write their segments.

    A host through which zones are reached stays out: a route from it or to it does not take its
    own links.
    """
    count = len(topology.hosts)
    empty = np.zeros(count, dtype=np.int32)
    composition = Composition(
        np.full(count, -1, dtype=np.int32), empty, empty.copy(), np.full(count, -1, np.int32), []
    )
    gateways = _gateways(topology)
    stars: dict[StarZone, list[int]] = {}
    for first, block in topology.hosts.blocks():
        if isinstance(block, NumberedHosts) and isinstance(block.zone, FlatCluster):
            zone = block.zone
            _compose_cluster(composition, writer, zone, first, gateways.get(zone, set()))
        elif isinstance(block, ListedHosts):
            for position, (holder, _) in enumerate(block.points):
                if isinstance(holder, StarZone) and not isinstance(holder, VivaldiZone):
                    stars.setdefault(holder, []).append(first + position)
    for star, hosts in stars.items():
        if not star.bypasses:
            _compose_star(composition, writer, topology, star, hosts, gateways.get(star, set()))
    return composition


def _gateways(topology: Topology) -> dict[Zone, set[int]]:
    """For each zone the hosts and routers at which routes between zones begin or end."""
    found: dict[Zone, set[int]] = {}
    for zone in [] if topology.root is None else topology.root.walk():
        routes = list(zone.bypasses.values())
        if isinstance(zone, TableZone) and zone.children:
            routes += zone.routes.values()
        ends = [point for route in routes for point in (route.gw_src, route.gw_dst)]
        if isinstance(zone, VivaldiZone):
            ends += zone.gateways.values()
        for point in ends:
            if point is not None:
                found.setdefault(point[0], set()).add(point[1])
    return found


def _compose_cluster(
    composition: Composition,
    writer: SegmentWriter,
    zone: FlatCluster,
    first: int,
    gateways: set[int],
) -> None:
    numbers = np.arange(zone.hosts)
    rows = zone.first_link + zone.head + numbers[:, None] * zone.row
    hosts = slice(first, first + zone.hosts)
    composition.up[hosts] = writer.add_rows(rows + np.array(zone.up_columns)) + numbers
    composition.down[hosts] = writer.add_rows(rows + np.array(zone.down_columns)) + numbers
    # The route of the first host to itself, as a pattern for all.
    own = zone.local_route(0, 0).links
    base = zone.first_link + zone.head
    between = [base + column for column in zone.up_columns], [base + c for c in zone.down_columns]
    if list(own) != [*between[0], *zone.backbone_links, *between[1]]:
        shared = np.array([link in zone.backbone_links for link in own])
        loops = np.where(shared, np.array(own), np.array(own) - base + rows)
        composition.loopback[hosts] = writer.add_rows(loops) + numbers
    members = first + np.delete(numbers, [local for local in gateways if local < zone.hosts])
    if len(members):
        composition.group[members] = len(composition.groups)
        host = int(members[0])
        row = int(rows[host - first, 0])
        up = tuple(row + column for column in zone.up_columns)
        down = tuple(row + column for column in zone.down_columns)
        composition.groups.append(Group(zone.backbone_links, host, up, down))


def _compose_star(
    composition: Composition,
    writer: SegmentWriter,
    topology: Topology,
    zone: StarZone,
    hosts: list[int],
    gateways: set[int],
) -> None:
    backbone = zone.backbone
    size = len(backbone)
    if not _are_apart(zone):
        return
    members: list[tuple[int, tuple[int, ...], tuple[int, ...]]] = []
    for host in hosts:
        local = topology.hosts.point(host)[1]
        up, down, _ = zone.arms_of(local)
        # A host without a host_link has not even the backbone on its way.
        if local not in gateways and up:
            members.append((host, up[: len(up) - size], down[size:]))
    if not members:
        return
    for host, up, down in members:
        composition.group[host] = len(composition.groups)
        composition.up[host] = writer.add(up)
        composition.down[host] = writer.add(down)
        local = topology.hosts.point(host)[1]
        own = zone.local_route(local, local).links
        if tuple(own) != up + backbone + down:
            composition.loopback[host] = writer.add(own)
    composition.groups.append(Group(backbone, *members[0]))


def _are_apart(zone: StarZone) -> bool:
    """Whether no link but the backbone is on one vertex's way up and on another's way down.

    A star takes such a link once, so that a route is not what its two ends say.
    """
    size = len(zone.backbone)
    ups: dict[int, int] = {}
    for local, arms in zone.arms.items():
        for link in arms.up[: len(arms.up) - size]:
            ups[link] = local if ups.setdefault(link, local) == local else -1
    for local, arms in zone.arms.items():
        for link in arms.down[size:]:
            if ups.get(link, local) != local or link in zone.backbone:
                return False
    return not any(link in zone.backbone for link in ups)
