"""Summary of a platform: sizes, zones, diameter, bisection bandwidth, one route."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tisim.errors import InputError
from tisim.platform.hosts import NumberedHosts
from tisim.platform.zones.base import Zone
from tisim.platform.zones.cluster import ClusterZone
from tisim.support.extras import is_installed
from tisim.support.quantities import format_bytes, format_quantity, format_time
from tisim.support.tables import align

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tisim.platform.disks import FileSystem
    from tisim.platform.hosts import Host
    from tisim.platform.links import Link
    from tisim.platform.platform import Platform, Route
    from tisim.platform.zones.cluster import Wiring

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

# Up to this number of hosts, all pairs are measured; beyond, about as many sampled pairs.
_ALL_PAIRS = 160
_PAIRS = _ALL_PAIRS * _ALL_PAIRS
_SHOWN_ZONES = 20


@dataclass(frozen=True, slots=True)
class ZoneSummary:
    """One zone: its name, routing, nesting depth, and numbers of hosts and zones directly in it."""

    name: str
    kind: str
    depth: int
    hosts: int
    zones: int


@dataclass(frozen=True, slots=True)
class PlatformReport:
    """Summary of a platform.

    Attributes
    ----------
    file
        File of the platform.
    hosts, cores, links
        Their numbers.
    speeds
        Minimum and maximum speed of a core, in flop/s.
    zones
        All zones, outer ones first.
    exact
        Whether the following numbers cover all pairs of hosts or a sample.
    diameter
        Maximum number of links between two hosts.
    longest_latency
        Maximum latency between two hosts, in seconds.
    farthest
        Two hosts at that latency; None if no hosts are connected.
    unconnected
        Number of measured pairs of different hosts that have no route.
    bisection_bandwidth
        Bytes/s from the first half of the hosts to the second. For a single cluster, the capacity
        of the links between the halves (the minimum cut). For other platforms, the capacity of
        their routes when each host of one half sends equally to each of the other; None if some
        are not connected, there are too many hosts, or scipy, which the minimum cut needs, is not
        installed.
    bisection_is_exact
        Whether it covers all routes or links, or a sample of the routes.
    profiles
        Number of profiles that change the platform over time.
    file_systems
        File systems on servers.
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
        """Return the report as text."""
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
        elif not is_installed("scipy"):
            lines.append("  bisection  unknown without scipy: pip install 'tisim[view]'")
        if self.unconnected:
            lines.append(f"  warning    {self.unconnected} pairs of hosts have no route")
        lines += (f"  {line}" for system in self.file_systems for line in system.lines())
        if self.profiles:
            lines.append(f"  profiles   {self.profiles} change the platform over time")
        return "\n".join(lines)


def describe(platform: Platform) -> PlatformReport:
    """Measure a platform and return the report."""
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
    """Return the cluster that contains all hosts of a platform; None if there are other zones."""
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
    """Examines routes between hosts, in particular from the first half to the second."""

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
            # A FATPIPE limits each flow individually: as if it were alone.
            fatpipe = platform.resources.link_fatpipe
            for link in links:
                self._load[link] = 1 if fatpipe[link] else self._load[link] + 1

    def bisection(self) -> float | None:
        """Return bytes/s summed over all crossing pairs, at equal rates."""
        used = self._load > 0
        if not self._complete or not used.any():
            return None
        share = self._platform.resources.link_bandwidth[used] / self._load[used]
        return float(share.min()) * self._crossing


def _selected_pairs(hosts: int) -> Iterator[tuple[int, int]]:
    """Yield all ordered pairs of different hosts, or a sample between the halves if too many."""
    if hosts <= _ALL_PAIRS:
        for src in range(hosts):
            yield from ((src, dst) for dst in range(hosts) if dst != src)
        return
    # Every host of the first half is used equally often, with random partners.
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
    """Return a route as text: its links one per line, then latency and minimum bandwidth."""
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


@dataclass(frozen=True, slots=True)
class FileSystemSummary:
    """A file system: its name, type, mount point and performance.

    Attributes
    ----------
    name, type, mount
        The file system.
    servers, count
        Number of servers, and number of servers that a file is striped across.
    stripe
        Bytes per stripe.
    read_bandwidth, write_bandwidth
        Total of all its disks, bytes/s.
    metadata
        Name of the host of its metadata server.
    metadata_latency, metadata_rate
        Seconds of a metadata operation, and operations per second; None: unlimited.
    size
        Capacity in bytes; None: unlimited.
    """

    name: str
    type: str
    mount: str
    servers: int
    count: int
    stripe: float
    read_bandwidth: float
    write_bandwidth: float
    metadata: str
    metadata_latency: float
    metadata_rate: float | None
    size: float | None

    def lines(self) -> list[str]:
        """Return a description in two lines."""
        servers = f"{self.servers} server{'s' if self.servers > 1 else ''}"
        stripes = f", stripes of {format_bytes(self.stripe)} on {self.count}"
        rate = f", {self.metadata_rate:,.0f} operations/s" if self.metadata_rate else ""
        size = f", holds {format_bytes(self.size)}" if self.size is not None else ""
        return [
            f"files      {self.mount}: {self.name}, {self.type}, {servers}"
            + (stripes if self.servers > 1 else "")
            + size,
            f"             reads {format_quantity(self.read_bandwidth, 'B/s')}, writes "
            f"{format_quantity(self.write_bandwidth, 'B/s')}; metadata on {self.metadata}: "
            f"{format_time(self.metadata_latency)}{rate}",
        ]


def summary_of(platform: Platform, system: FileSystem) -> FileSystemSummary:
    """Summarise one of a platform's file systems."""
    disks = [platform.disks[disk] for disk in system.servers]
    return FileSystemSummary(
        name=system.name,
        type=system.type,
        mount=system.mount,
        servers=len(disks),
        count=system.count,
        stripe=system.stripe,
        read_bandwidth=math.fsum(disk.read_bandwidth for disk in disks),
        write_bandwidth=math.fsum(disk.write_bandwidth for disk in disks),
        metadata=platform.hosts[system.metadata].name,
        metadata_latency=system.metadata_latency,
        metadata_rate=None if math.isinf(system.metadata_rate) else system.metadata_rate,
        size=None if math.isinf(system.size) else system.size,
    )


# scipy's flows are 32-bit integers. They only determine which links are cut; the capacity of the
# cut is the sum of their bandwidths.
_MAX_CAPACITY = 2**31 - 1
# Resolution of a bandwidth as an integer, if the sum of all leaves room for it.
_RESOLUTION = 1 << 12
_FIRST_HALF, _SECOND_HALF = 0, 1


class _Edges(NamedTuple):
    """Directed edges of a graph with their capacities, in bytes/s."""

    tails: Integers
    heads: Integers
    capacities: Floats


def bisection_bandwidth(
    wiring: Wiring,
    hosts: int,
    bandwidths: Floats,
    is_fatpipe: NDArray[np.uint8] | NDArray[np.bool_],
) -> float | None:
    """Return the bandwidth of the minimum cut between the first and second half of the hosts.

    `wiring`: cables between hosts and switches. `hosts`: number of hosts; if odd, the second half
    is the larger one. `bandwidths`: of every link of the platform, in bytes/s. `is_fatpipe`: links
    that limit each flow individually, and never the sum of flows. Returns bytes/s in the direction
    from the first half to the second. None if no set of links limits the sum, or one of the halves
    is empty.
    """
    if hosts < 2:
        return None
    capacities = np.where(is_fatpipe, np.inf, bandwidths)
    edges = _contract_halves(wiring, hosts, capacities)
    return _minimum_cut(edges)


def _contract_halves(wiring: Wiring, hosts: int, capacities: Floats) -> _Edges:
    """Return the graph with each half of the hosts as one vertex, 0 and 1, followed by the others.

    A vertex with a limiter becomes two, connected by the limiter; messages enter the one and leave
    from the other.
    """
    top = int(max(hosts - 1, wiring.tails.max(initial=0), wiring.heads.max(initial=0))) + 1
    entrances = np.arange(2, top + 2)
    exits = entrances.copy()
    exits[wiring.limited] = np.arange(top + 2, top + 2 + len(wiring.limited))
    half = hosts // 2
    # Hosts of the first half send from their entrance, hosts of the second half receive at their
    # exit: the path includes their own limiter.
    for numbers, group, vertex in (
        (entrances, slice(0, half), _FIRST_HALF),
        (exits, slice(half, hosts), _SECOND_HALF),
    ):
        merged = numbers[group]
        other = exits if numbers is entrances else entrances
        is_plain = merged == other[group]
        merged[...] = vertex
        other[group][is_plain] = vertex
    tails = np.concatenate([exits[wiring.tails], entrances[wiring.limited]])
    heads = np.concatenate([entrances[wiring.heads], exits[wiring.limited]])
    links = np.concatenate([wiring.links, wiring.limiters])
    matters = tails != heads
    return _Edges(tails[matters], heads[matters], capacities[links[matters]])


def _minimum_cut(edges: _Edges) -> float | None:
    """Return the minimum cut between vertices 0 and 1; None if infinite, or without scipy."""
    # Tests compare this to networkx, whose minimum cut takes 18 s instead of 0.5 s for a fat tree
    # of 65,536 hosts.
    if not is_installed("scipy"):
        return None
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    finite = edges.capacities[np.isfinite(edges.capacities)]
    if not len(finite):
        return None
    # No flow exceeds the sum of the finite capacities, which replaces the infinite ones.
    most = finite.sum()
    unit = max(float(most) / _MAX_CAPACITY, float(finite.min()) / _RESOLUTION)
    whole = np.minimum(np.rint(edges.capacities / unit), np.floor(most / unit)).astype(np.int32)
    size = int(max(edges.tails.max(), edges.heads.max())) + 1
    # Merge parallel cables.
    rows, inverse = np.unique(edges.tails * size + edges.heads, return_inverse=True)
    sums = np.minimum(np.bincount(inverse, weights=whole), _MAX_CAPACITY).astype(np.int32)
    tails, heads = np.divmod(rows, size)
    graph = csr_array((sums, (tails, heads)), shape=(size, size), dtype=np.int32)
    flow = maximum_flow(graph, _FIRST_HALF, _SECOND_HALF).flow
    residual = graph - flow
    residual.data[residual.data <= 0] = 0
    residual.eliminate_zeros()
    reached = np.zeros(size, dtype=np.bool_)
    reached[breadth_first_order(residual, _FIRST_HALF, return_predecessors=False)] = True
    cut = reached[edges.tails] & ~reached[edges.heads]
    total = float(edges.capacities[cut].sum())
    return total if np.isfinite(total) else None
