"""A platform as arrays: what crosses the border to the core."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.platform.columns import Column, Columns, NumpyView
from tisim.platform.profiles import ResourceProfile
from tisim.platform.resources import Resources
from tisim.platform.routing import add_up
from tisim.platform.segments import Composition, Group, SegmentWriter, compose

if TYPE_CHECKING:
    import numpy as np

    from tisim.platform.router import Router
    from tisim.platform.topology import Topology
    from tisim.platform.zones.base import Term

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
    """What is between two groups: links, and the terms of its latency."""
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
