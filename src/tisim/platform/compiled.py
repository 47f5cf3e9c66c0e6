"""A platform as arrays: what crosses the border to the core."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tisim.errors import InputError
from tisim.platform.profiles import ResourceProfile
from tisim.platform.routing import add_up
from tisim.platform.segments import Composition, Group, SegmentWriter, compose

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tisim.platform.platform import Platform
    from tisim.platform.zones.base import Term

_Number = TypeVar("_Number", bound=np.generic)

# With more groups than this, pairs of different groups are answered on demand only.
_LISTED_GROUPS = 32


@dataclass(frozen=True, eq=False, slots=True)
class CompiledEvents:
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

    is_link: NDArray[np.uint8]
    index: NDArray[np.int32]
    what: NDArray[np.uint8]
    period: NDArray[np.float64]
    offset: NDArray[np.int64]
    time: NDArray[np.float64]
    value: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CompiledPlatform:
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

    host_speed: NDArray[np.float64]
    host_cores: NDArray[np.int32]
    link_bandwidth: NDArray[np.float64]
    link_latency: NDArray[np.float64]
    link_fatpipe: NDArray[np.uint8]
    default_loopback: int
    segment_offset: NDArray[np.int64]
    segment_links: NDArray[np.int32]
    segment_latency: NDArray[np.float64]
    host_group: NDArray[np.int32]
    host_up: NDArray[np.int32]
    host_down: NDArray[np.int32]
    host_loopback: NDArray[np.int32]
    pair_src: NDArray[np.int32]
    pair_dst: NDArray[np.int32]
    pair_segment: NDArray[np.int32]
    events: CompiledEvents
    _platform: Platform
    _composition: Composition

    def host_name(self, index: int) -> str:
        """Name of a host."""
        return self._platform.topology.hosts.name(index)

    def link_name(self, index: int) -> str:
        """Name of a link."""
        return self._platform.topology.links.name(index)

    def route(self, source: int, destination: int) -> tuple[NDArray[np.int32], float]:
        """The links from one host to another, given by index, and the latency in seconds.

        Raises
        ------
        InputError
            If there is no route.
        """
        links, latency = self._platform.route_links(source, destination, self.link_latency)
        return np.array(links, dtype=np.int32), latency

    def group_route(self, src: int, dst: int) -> tuple[NDArray[np.int32], float] | None:
        """The middle between two groups: links, and latency in seconds.

        None if routes between the two are not composed of segments (then ask `route`).
        """
        groups = self._composition.groups
        middle = _middle(self._platform, groups[src], groups[dst])
        if middle is None:
            return None
        return np.array(middle[0], dtype=np.int32), add_up(middle[1], self.link_latency.data)

    def with_loopback(self, bandwidth: float, latency: float) -> CompiledPlatform:
        """The same with the network model's loopback (bytes/s, s) for the default one."""
        link = self.default_loopback
        if link < 0:
            return self
        bandwidths, latencies = self.link_bandwidth.copy(), self.link_latency.copy()
        added = latency - float(latencies[link])
        bandwidths[link], latencies[link] = bandwidth, latency
        count = len(self.segment_latency)
        owner = np.repeat(np.arange(count), np.diff(self.segment_offset))
        uses = np.bincount(owner[self.segment_links == link], minlength=count)
        return dataclasses.replace(
            self,
            link_bandwidth=_frozen(bandwidths),
            link_latency=_frozen(latencies),
            segment_latency=_frozen(self.segment_latency + uses * added),
        )


def compile_platform(platform: Platform) -> CompiledPlatform:
    """Turn a platform into arrays; see `CompiledPlatform`."""
    numbers, topology = platform.resources, platform.topology
    writer = SegmentWriter(numbers.link_latency)
    composition = compose(topology, writer)
    pairs = _list_pairs(platform, composition, writer)
    offset, links_of, latency_of = writer.arrays()
    return CompiledPlatform(
        host_speed=numbers.host_speed,
        host_cores=numbers.host_cores,
        link_bandwidth=numbers.link_bandwidth,
        link_latency=numbers.link_latency,
        link_fatpipe=numbers.link_fatpipe,
        default_loopback=topology.loopback,
        segment_offset=_frozen(offset),
        segment_links=_frozen(links_of),
        segment_latency=_frozen(latency_of),
        host_group=_frozen(composition.group),
        host_up=_frozen(composition.up),
        host_down=_frozen(composition.down),
        host_loopback=_frozen(composition.loopback),
        pair_src=_frozen(pairs[:, 0].copy()),
        pair_dst=_frozen(pairs[:, 1].copy()),
        pair_segment=_frozen(pairs[:, 2].copy()),
        events=_compile_events(platform.profiles),
        _platform=platform,
        _composition=composition,
    )


def _list_pairs(
    platform: Platform, composition: Composition, writer: SegmentWriter
) -> NDArray[np.int32]:
    """The pairs of groups with their middle segments: rows of source, destination, segment."""
    groups = composition.groups
    rows = [(number, number, writer.add(group.middle)) for number, group in enumerate(groups)]
    if len(groups) <= _LISTED_GROUPS:
        for src, dst in itertools.permutations(range(len(groups)), 2):
            middle = _middle(platform, groups[src], groups[dst])
            if middle is not None:
                rows.append((src, dst, writer.add(*middle)))
    return np.array(rows, dtype=np.int32).reshape(-1, 3)


def _middle(platform: Platform, src: Group, dst: Group) -> tuple[list[int], list[Term]] | None:
    """What is between two groups: links, and the terms of its latency."""
    if src is dst:
        return list(src.middle), list(src.middle)
    try:
        links, terms = platform.find_links(src.host, dst.host)
    except InputError:
        return None
    middle = src.strip(links, dst)
    if middle is None:
        return None
    for link in (*src.up, *dst.down):
        terms.remove(link)
    return middle, terms


def _compile_events(profiles: tuple[ResourceProfile, ...]) -> CompiledEvents:
    lengths = [len(entry.profile.times) for entry in profiles]
    times = [time for entry in profiles for time in entry.profile.times]
    values = [value for entry in profiles for value in entry.profile.values]
    periods = [entry.profile.period for entry in profiles]
    return CompiledEvents(
        _frozen(np.array([entry.is_link for entry in profiles], dtype=np.uint8)),
        _frozen(np.array([entry.index for entry in profiles], dtype=np.int32)),
        _frozen(np.array([entry.what for entry in profiles], dtype=np.uint8)),
        _frozen(np.array([-1.0 if p is None else p for p in periods], dtype=np.float64)),
        _frozen(np.cumsum([0, *lengths], dtype=np.int64)),
        _frozen(np.array(times, dtype=np.float64)),
        _frozen(np.array(values, dtype=np.float64)),
    )


def _frozen(array: NDArray[_Number]) -> NDArray[_Number]:
    array.setflags(write=False)
    return array
