"""What a platform file describes: sizes, zones, diameter, bisection bandwidth, one route."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tisim.errors import InputError
from tisim.platform.bisection import bisection_bandwidth
from tisim.platform.file_system_summary import FileSystemSummary, summary_of
from tisim.platform.hosts import NumberedHosts
from tisim.platform.zones.base import Zone
from tisim.platform.zones.cluster import ClusterZone
from tisim.support.quantities import format_quantity, format_time
from tisim.support.tables import align

if TYPE_CHECKING:
    from tisim.platform.hosts import Host
    from tisim.platform.links import Link
    from tisim.platform.platform import Platform, Route

# Up to this number of hosts, all pairs are measured; beyond, about as many selected pairs.
_ALL_PAIRS = 160
_PAIRS = _ALL_PAIRS * _ALL_PAIRS
_SHOWN_ZONES = 20


@dataclass(frozen=True, slots=True)
class ZoneSummary:
    """One zone: its name, how it routes, how deep it is nested, its own hosts and zones."""

    name: str
    kind: str
    depth: int
    hosts: int
    zones: int


@dataclass(frozen=True, slots=True)
class PlatformReport:
    """What a platform is made of.

    Attributes
    ----------
    file
        Where it comes from.
    hosts, cores, links
        How many there are.
    speeds
        Least and greatest speed of a core, in flop/s.
    zones
        All zones, outer ones first.
    exact
        Whether the numbers below are of all pairs of hosts or of a selection.
    diameter
        The greatest number of links between two hosts.
    longest_latency
        The greatest latency between two hosts, in seconds.
    farthest
        Two hosts that are that latency apart; None if no hosts are connected.
    unconnected
        Pairs of different hosts that have no route, among those measured.
    bisection_bandwidth
        Bytes/s from the first half of the hosts to the second. Of a single cluster, what the links
        between the halves carry together (the least cut). Of other platforms, what their routes
        carry when each host of the one half sends equally to each of the other; None if not all
        of them are connected, or there are too many to tell.
    bisection_is_exact
        Whether that is of all routes or links, or of a selection of the routes.
    profiles
        How many profiles change the platform over time.
    file_systems
        Those on servers.
    """

    file: str
    hosts: int
    cores: int
    links: int
    speeds: tuple[float, float]
    zones: tuple[ZoneSummary, ...]
    exact: bool
    diameter: int
    longest_latency: float
    farthest: tuple[str, str] | None
    unconnected: int
    bisection_bandwidth: float | None
    bisection_is_exact: bool
    profiles: int
    file_systems: tuple[FileSystemSummary, ...] = ()

    def text(self) -> str:
        """The report for people, some lines of text."""
        low, high = (format_quantity(speed, "flop/s") for speed in self.speeds)
        least = "" if self.exact else "at least "
        between = f" ({self.farthest[0]} to {self.farthest[1]})" if self.farthest else ""
        latency = format_time(self.longest_latency)
        lines = [
            self.file,
            f"  hosts      {self.hosts} with {self.cores} cores, {low}"
            + (f" to {high}" if high != low else "")
            + " a core",
            f"  links      {self.links} (SPLITDUPLEX counts twice)",
            f"  zones      {len(self.zones)}",
            *_zone_lines(self.zones),
            f"  diameter   {least}{self.diameter} links, {least}{latency}{between}",
        ]
        if self.bisection_bandwidth is not None:
            bandwidth = format_quantity(self.bisection_bandwidth, "B/s")
            about = "" if self.bisection_is_exact else "about "
            lines.append(f"  bisection  {about}{bandwidth} from the first half of the hosts")
        if self.unconnected:
            lines.append(f"  warning    {self.unconnected} pairs of hosts have no route")
        lines += (f"  {line}" for system in self.file_systems for line in system.lines())
        if self.profiles:
            lines.append(f"  profiles   {self.profiles} change the platform over time")
        return "\n".join(lines)


def describe(platform: Platform) -> PlatformReport:
    """Measure a platform."""
    counts: Counter[str] = Counter()
    for _, block in platform.topology.hosts.blocks():
        if isinstance(block, NumberedHosts):
            counts[block.zone.name] += len(block)
        else:
            counts.update(block.point(position)[0].name for position in range(len(block)))
    numbers = platform.resources
    distances = _Distances(platform)
    links = len(platform.links) - (platform.topology.loopback >= 0)
    exact = len(platform.hosts) <= _ALL_PAIRS
    cluster = _only_cluster(platform.root)
    return PlatformReport(
        file=platform.file,
        hosts=len(platform.hosts),
        cores=int(numbers.host_cores.sum()),
        links=links,
        speeds=(float(numbers.host_speed.min()), float(numbers.host_speed.max())),
        zones=tuple(_summary(zone, counts) for zone in platform.root.walk()),
        exact=exact,
        diameter=distances.links,
        longest_latency=distances.latency,
        farthest=distances.farthest,
        unconnected=distances.unconnected,
        bisection_bandwidth=distances.bisection()
        if cluster is None
        else bisection_bandwidth(
            cluster.wiring(), cluster.hosts, numbers.link_bandwidth, numbers.link_fatpipe
        ),
        bisection_is_exact=exact or cluster is not None,
        profiles=len(platform.profiles),
        file_systems=tuple(summary_of(platform, system) for system in platform.file_systems),
    )


def _only_cluster(root: Zone) -> ClusterZone | None:
    """The cluster that holds all hosts of a platform; None if there are other zones."""
    zone = root
    while len(zone.children) == 1:
        (zone,) = zone.children
    return zone if isinstance(zone, ClusterZone) else None


def _summary(zone: Zone, counts: Counter[str]) -> ZoneSummary:
    return ZoneSummary(zone.name, zone.kind, zone.depth, counts[zone.name], len(zone.children))


def _zone_lines(zones: tuple[ZoneSummary, ...]) -> Iterator[str]:
    for zone in zones[:_SHOWN_ZONES]:
        parts = [f"{zone.hosts} hosts"] if zone.hosts else []
        parts += [f"{zone.zones} zones"] if zone.zones else []
        yield f"    {'  ' * zone.depth}{zone.name}: {zone.kind}, {', '.join(parts) or 'empty'}"
    if len(zones) > _SHOWN_ZONES:
        yield f"    and {len(zones) - _SHOWN_ZONES} more"


class _Distances:
    """Looks at routes between hosts, the first half against the second in particular."""

    def __init__(self, platform: Platform) -> None:
        self.links = 0
        self.latency = 0.0
        self.farthest: tuple[str, str] | None = None
        self.unconnected = 0
        self._platform = platform
        self._crossing = 0
        self._complete = len(platform.hosts) <= _PAIRS
        self._load = np.zeros(len(platform.links), dtype=np.int64)
        half = len(platform.hosts) // 2
        for src, dst in _selected_pairs(len(platform.hosts)):
            self._measure(src, dst, src < half <= dst)

    def _measure(self, src: int, dst: int, crosses: bool) -> None:
        platform = self._platform
        try:
            links, latency = platform.route_links(src, dst)
        except InputError:
            self.unconnected += 1
            self._complete = False
            return
        self.links = max(self.links, len(links))
        if self.farthest is None or latency > self.latency:
            self.latency = latency
            name = platform.topology.hosts.name
            self.farthest = name(src), name(dst)
        if crosses:
            self._crossing += 1
            # A FATPIPE bounds each flow by itself: as if it were the only one.
            fatpipe = platform.resources.link_fatpipe
            for link in links:
                self._load[link] = 1 if fatpipe[link] else self._load[link] + 1

    def bisection(self) -> float | None:
        """Bytes/s over all pairs that cross, if all get the same."""
        used = self._load > 0
        if not self._complete or not used.any():
            return None
        share = self._platform.resources.link_bandwidth[used] / self._load[used]
        return float(share.min()) * self._crossing


def _selected_pairs(hosts: int) -> Iterator[tuple[int, int]]:
    """All ordered pairs of different hosts, or some between the halves if there are too many."""
    if hosts <= _ALL_PAIRS:
        for src in range(hosts):
            yield from ((src, dst) for dst in range(hosts) if dst != src)
        return
    # Every host of the first half as often as every other, with partners drawn at random.
    half = hosts // 2
    random = np.random.default_rng(0)
    count = min(half, _PAIRS // 2)
    for _ in range(_PAIRS // 2 // count):
        sources = random.permutation(half)[:count].tolist()
        destinations = (half + random.permutation(hosts - half)[:count]).tolist()
        for src, dst in zip(sources, destinations, strict=True):
            yield src, dst
            yield dst, src


def describe_route(src: Host, dst: Host, route: Route) -> str:
    """A route for people: its links one a line, then its latency and its least bandwidth."""
    lines = [f"{src.name} -> {dst.name}"]
    lines += [f"  {line}" for line in align([_link_cells(link) for link in route.links], (0, 3))]
    least = min((link.bandwidth for link in route.links), default=None)
    total = f"  latency {format_time(route.latency)}"
    if least is not None:
        total += f", bandwidth {format_quantity(least, 'B/s')}"
    return "\n".join([*lines, total])


def _link_cells(link: Link) -> tuple[str, ...]:
    bandwidth = format_quantity(link.bandwidth, "B/s")
    sharing = "FATPIPE" if link.fatpipe else "SHARED"
    return link.name, bandwidth, format_time(link.latency), sharing
