"""A platform as arrays for the core: numbers, segments of routes, and groups of hosts."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tisim.errors import InputError
from tisim.platform.columns import Column, Columns, NumpyView, Resources
from tisim.platform.hosts import ListedHosts, NumberedHosts
from tisim.platform.profiles import ResourceProfile
from tisim.platform.routing import add_up
from tisim.platform.zones.flat import FlatCluster
from tisim.platform.zones.star import StarZone, VivaldiZone
from tisim.platform.zones.table import TableZone

if TYPE_CHECKING:
    import numpy as np

    from tisim.platform.routing import Router
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
        """The first `count` links of the column."""
        if self.step == 0:
            return array("i", [self.first]) * count
        return range(self.first, self.first + count * self.step, self.step)

    def pick(self, numbers: array[float], count: int) -> array[float]:
        """The numbers of the first `count` links of the column."""
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
    """True if only the backbone is on one vertex's way up and on another's way down.

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


# With more groups than this, pairs of different groups are answered on demand only.
_LISTED_GROUPS = 32


class CompiledEvents(Columns):
    """All profiles of a platform, as arrays.

    Attributes
    ----------
    is_link
        Whether the resource is a link (1) or a host (0); shape (profiles,).
    index
        Which host or link; shape (profiles,).
    what
        0: speed, a fraction of ``host_speed``; 1: bandwidth, bytes/s; 2: latency, s;
        3: state, on if the value is above 0; shape (profiles,).
    period
        Seconds between the starts of two rounds, -1 for one round only; shape (profiles,).
    offset
        Where the events of each profile begin; shape (profiles + 1,).
    time, value
        When each event happens in the first round (s), and the new value; shape (events,).
    """

    is_link: NumpyView[np.uint8] = NumpyView("B")
    index: NumpyView[np.int32] = NumpyView("i")
    what: NumpyView[np.uint8] = NumpyView("B")
    period: NumpyView[np.float64] = NumpyView("d")
    offset: NumpyView[np.int64] = NumpyView("q")
    time: NumpyView[np.float64] = NumpyView("d")
    value: NumpyView[np.float64] = NumpyView("d")


class CompiledPlatform(Resources):
    """Hosts, links and routes as arrays.

    The route from host a to another host b is the segment ``host_up[a]``, the middle segment of
    the pair of groups (``host_group[a]``, ``host_group[b]``) and ``host_down[b]``, whenever that
    pair of groups is listed; the route from a to itself is ``host_loopback[a]``, or if that is -1
    and a has a group, the same composition. Every other pair is answered by `route`.

    Attributes
    ----------
    host_speed, host_cores
        Speed of a core (flop/s) and number of cores; shape (hosts,).
    link_bandwidth, link_latency, link_fatpipe
        bytes/s, seconds, 1 for a FATPIPE; shape (links,).
    default_loopback
        Index of the link whose bandwidth and latency are the network model's, or -1.
    segment_offset, segment_links, segment_latency
        Where the links of each segment begin (segments + 1), the links, and the latencies in
        seconds (segments); segment 0 is empty.
    host_group, host_up, host_down, host_loopback
        As above; a group of -1 means none, as does a loopback of -1; shape (hosts,).
    pair_src, pair_dst, pair_segment
        The listed pairs of groups and their middle segments; shape (pairs,).
    events
        How the numbers above change over time.
    """

    segment_offset: NumpyView[np.int64] = NumpyView("q")
    segment_links: NumpyView[np.int32] = NumpyView("i")
    segment_latency: NumpyView[np.float64] = NumpyView("d")
    host_group: NumpyView[np.int32] = NumpyView("i")
    host_up: NumpyView[np.int32] = NumpyView("i")
    host_down: NumpyView[np.int32] = NumpyView("i")
    host_loopback: NumpyView[np.int32] = NumpyView("i")
    pair_src: NumpyView[np.int32] = NumpyView("i")
    pair_dst: NumpyView[np.int32] = NumpyView("i")
    pair_segment: NumpyView[np.int32] = NumpyView("i")

    def __init__(
        self,
        topology: Topology,
        router: Router,
        groups: list[Group],
        events: CompiledEvents,
        **numbers: Iterable[float] | Column,
    ) -> None:
        super().__init__(**numbers)
        self.default_loopback = topology.loopback
        self.events = events
        self._topology = topology
        self._router = router
        self._groups = groups

    def host_name(self, index: int) -> str:
        """Name of a host."""
        return self._topology.hosts.name(index)

    def link_name(self, index: int) -> str:
        """Name of a link."""
        return self._topology.links.name(index)

    def route(self, source: int, destination: int) -> tuple[array[int], float]:
        """The links from one host to another, given by index, and the latency in seconds.

        Raises
        ------
        InputError
            If there is no route.
        """
        links, latency = self._router.route(source, destination, self.floats("link_latency"))
        return array("i", links), latency

    def group_route(self, src: int, dst: int) -> tuple[array[int], float] | None:
        """The middle between two groups: links, and latency in seconds.

        None if routes between the two are not composed of segments (then ask `route`).
        """
        middle = _middle(self._router, self._groups[src], self._groups[dst])
        if middle is None:
            return None
        return array("i", middle[0]), add_up(middle[1], self.floats("link_latency"))

    def with_loopback(self, bandwidth: float, latency: float) -> CompiledPlatform:
        """The same with the network model's loopback (bytes/s, s) for the default one."""
        link = self.default_loopback
        if link < 0:
            return self
        bandwidths, latencies = self.floats("link_bandwidth")[:], self.floats("link_latency")[:]
        added = latency - latencies[link]
        bandwidths[link], latencies[link] = bandwidth, latency
        changed = {
            "link_bandwidth": Column(bandwidths),
            "link_latency": Column(latencies),
            "segment_latency": Column(self._latencies_with(link, added)),
        }
        return CompiledPlatform(
            self._topology,
            self._router,
            self._groups,
            self.events,
            **{**self.columns, **changed},
        )

    def _latencies_with(self, link: int, added: float) -> array[float]:
        """The latencies of the segments if one link's latency grows, in seconds."""
        latencies, links = self.floats("segment_latency"), self.integers("segment_links")
        if added == 0 or not links.count(link):
            return latencies
        ends = itertools.pairwise(self.integers("segment_offset"))
        return array(
            "d",
            (
                latency + links[first:end].count(link) * added
                for latency, (first, end) in zip(latencies, ends, strict=True)
            ),
        )


def compile_platform(
    topology: Topology,
    resources: Resources,
    profiles: Sequence[ResourceProfile],
    router: Router,
) -> CompiledPlatform:
    """Turn a platform into arrays; see `CompiledPlatform`."""
    writer = SegmentWriter(resources.floats("link_latency"))
    composition = compose(topology, writer)
    pairs = _list_pairs(router, composition, writer)
    return CompiledPlatform(
        topology,
        router,
        composition.groups,
        _compile_events(profiles),
        **resources.columns,
        segment_offset=writer.offsets,
        segment_links=writer.links,
        segment_latency=writer.latencies,
        host_group=composition.group,
        host_up=composition.up,
        host_down=composition.down,
        host_loopback=composition.loopback,
        pair_src=[row[0] for row in pairs],
        pair_dst=[row[1] for row in pairs],
        pair_segment=[row[2] for row in pairs],
    )


def _list_pairs(
    router: Router, composition: Composition, writer: SegmentWriter
) -> list[tuple[int, int, int]]:
    """The pairs of groups with their middle segments: rows of source, destination, segment."""
    groups = composition.groups
    rows = [(number, number, writer.add(group.middle)) for number, group in enumerate(groups)]
    if len(groups) <= _LISTED_GROUPS:
        for src, dst in itertools.permutations(range(len(groups)), 2):
            middle = _middle(router, groups[src], groups[dst])
            if middle is not None:
                rows.append((src, dst, writer.add(*middle)))
    return rows


def _middle(router: Router, src: Group, dst: Group) -> tuple[list[int], list[Term]] | None:
    """The middle of routes between two groups: links, and the terms of its latency."""
    if src is dst:
        return list(src.middle), list(src.middle)
    try:
        links, terms = router.find_links(src.host, dst.host)
    except InputError:
        return None
    middle = src.strip(links, dst)
    if middle is None:
        return None
    for link in (*src.up, *dst.down):
        terms.remove(link)
    return middle, terms


def _compile_events(profiles: Sequence[ResourceProfile]) -> CompiledEvents:
    lengths = [len(entry.profile.times) for entry in profiles]
    periods = [entry.profile.period for entry in profiles]
    return CompiledEvents(
        is_link=[entry.is_link for entry in profiles],
        index=[entry.index for entry in profiles],
        what=[entry.what for entry in profiles],
        period=[-1.0 if period is None else period for period in periods],
        offset=itertools.accumulate(lengths, initial=0),
        time=[time for entry in profiles for time in entry.profile.times],
        value=[value for entry in profiles for value in entry.profile.values],
    )
