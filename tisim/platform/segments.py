"""Parts of routes as arrays, and which hosts' routes can be composed of them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tisim.platform.hosts import ListedHosts, NumberedHosts
from tisim.platform.routing import add_up
from tisim.platform.zones.flat import FlatCluster
from tisim.platform.zones.star import StarZone, VivaldiZone
from tisim.platform.zones.table import TableZone

if TYPE_CHECKING:
    from tisim.platform.topology import Topology
    from tisim.platform.zones.base import Term, Zone


class SegmentWriter:
    """Collects segments: lists of links, each with its latency. Segment 0 is the empty one.

    Parameters
    ----------
    link_latency
        Of each link, in seconds.

    Attributes
    ----------
    offsets
        Where the links of each segment begin (segments + 1).
    links
        The links of all segments.
    latencies
        Of each segment, in seconds.
    """

    def __init__(self, link_latency: array[float]) -> None:
        self._link_latency = link_latency
        self.offsets = array("q", [0])
        self.links = array("i")
        self.latencies = array("d")
        self.add(())

    def add(self, links: Sequence[int], terms: Sequence[Term] | None = None) -> int:
        """Add one segment; its latency is the sum of `terms`, of the links' when not given."""
        self.links.extend(links)
        self.offsets.append(len(self.links))
        self.latencies.append(add_up(links if terms is None else terms, self._link_latency))
        return len(self.latencies) - 1

    def add_rows(self, count: int, columns: Sequence[Stepping]) -> int:
        """Add `count` segments that take one link of each column; returns the first's number."""
        width, first = len(columns), len(self.latencies)
        links = array("i", bytes(4 * count * width))
        for place, column in enumerate(columns):
            links[place::width] = array("i", column.links(count))
        end = len(self.links)
        self.offsets.extend(range(end + width, end + width * count + 1, width))
        self.links.extend(links)
        self.latencies.extend(self._latencies_of_rows(count, columns))
        return first

    def _latencies_of_rows(self, count: int, columns: Sequence[Stepping]) -> Iterable[float]:
        rows = [column.pick(self._link_latency, count) for column in columns]
        if all(row.count(row[0]) == count for row in rows):
            return array("d", [sum(row[0] for row in rows)]) * count
        return map(sum, zip(*rows, strict=True))


class Stepping(NamedTuple):
    """A column of links: the first one, and how far the next one is (0: all the same)."""

    first: int
    step: int

    def links(self, count: int) -> Iterable[int]:
        """That many links of the column."""
        if self.step == 0:
            return array("i", [self.first]) * count
        return range(self.first, self.first + count * self.step, self.step)

    def pick(self, numbers: array[float], count: int) -> array[float]:
        """The numbers of that many links of the column."""
        if self.step == 0:
            return numbers[self.first : self.first + 1] * count
        return numbers[self.first : self.first + (count - 1) * self.step + 1 : self.step]


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
        """A route from `host` to that of `dst` without their own links.

        None if the route lacks them at its ends. None too if it crosses one of them again: then
        its first links may belong to a zone, and another host's own links would not replace them.
        """
        last = len(links) - len(dst.down)
        begins = tuple(links[: len(self.up)]) == self.up
        if not begins or last < len(self.up) or tuple(links[last:]) != dst.down:
            return None
        middle = links[len(self.up) : last]
        return middle if {*self.up, *dst.down}.isdisjoint(middle) else None


class Composition:
    """For each host its group (-1: none) and its segments up, down and to itself (-1: none).

    Parameters
    ----------
    hosts
        How many there are.
    """

    def __init__(self, hosts: int) -> None:
        self.group = array("i", [-1]) * hosts
        self.up = array("i", [0]) * hosts
        self.down = array("i", [0]) * hosts
        self.loopback = array("i", [-1]) * hosts
        self.groups: list[Group] = []


def compose(topology: Topology, writer: SegmentWriter) -> Composition:
    """Group the hosts of clusters and stars, and write their segments.

    A host through which zones are reached stays out: a route from it or to it does not take its
    own links.
    """
    composition = Composition(len(topology.hosts))
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
    base, step, count = zone.first_link + zone.head, zone.row, zone.hosts
    up = [Stepping(base + column, step) for column in zone.up_columns]
    down = [Stepping(base + column, step) for column in zone.down_columns]
    hosts = slice(first, first + count)
    composition.up[hosts] = _numbers(writer.add_rows(count, up), count)
    composition.down[hosts] = _numbers(writer.add_rows(count, down), count)
    # The route of the first host to itself, as a pattern for all.
    own = list(zone.local_route(0, 0).links)
    between = [column.first for column in up], [column.first for column in down]
    if own != [*between[0], *zone.backbone_links, *between[1]]:
        loops = [Stepping(link, 0 if link in zone.backbone_links else step) for link in own]
        composition.loopback[hosts] = _numbers(writer.add_rows(count, loops), count)
    outside = sorted(local for local in gateways if local < count)
    if len(outside) == count:
        return
    composition.group[hosts] = array("i", [len(composition.groups)]) * count
    for local in outside:
        composition.group[first + local] = -1
    member = next(local for local in range(count) if local not in gateways)
    composition.groups.append(
        Group(
            zone.backbone_links,
            first + member,
            tuple(column.first + member * step for column in up),
            tuple(column.first + member * step for column in down),
        )
    )


def _numbers(first: int, count: int) -> array[int]:
    return array("i", range(first, first + count))


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
    if not _have_links_of_their_own(zone):
        return
    members: list[tuple[int, tuple[int, ...], tuple[int, ...]]] = []
    for host in hosts:
        local = topology.hosts.point(host)[1]
        up, down, _ = zone.links_of(local)
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


def _have_links_of_their_own(zone: StarZone) -> bool:
    """Whether no link but the backbone is on one vertex's way up and on another's way down.

    A star takes such a link once, so that a route is not what its two ends say.
    """
    size = len(zone.backbone)
    ups: dict[int, int] = {}
    for local, own in zone.vertex_links.items():
        for link in own.up[: len(own.up) - size]:
            ups[link] = local if ups.setdefault(link, local) == local else -1
    for local, own in zone.vertex_links.items():
        for link in own.down[size:]:
            if ups.get(link, local) != local or link in zone.backbone:
                return False
    return not any(link in zone.backbone for link in ups)
