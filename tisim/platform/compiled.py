"""A platform as arrays for the core, and the zones that its routes are computed from."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tisim.platform.columns import Column, Columns, NumpyView, Resources
from tisim.platform.profiles import ResourceProfile

if TYPE_CHECKING:
    import numpy as np

    from tisim import _core
    from tisim.platform.router import Router
    from tisim.platform.topology import Topology


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
    """Hosts and links as arrays, and their routes.

    Attributes
    ----------
    host_speed, host_cores
        Speed of a core (flop/s) and number of cores; shape (hosts,).
    link_bandwidth, link_latency, link_fatpipe
        bytes/s, seconds, 1 for a FATPIPE; shape (links,).
    default_loopback
        Index of the link whose bandwidth and latency are the network model's, or -1.
    events
        How the numbers above change over time.
    """

    def __init__(
        self,
        topology: Topology,
        router: Router,
        events: CompiledEvents,
        **numbers: Iterable[float] | Column,
    ) -> None:
        super().__init__(**numbers)
        self.default_loopback = topology.loopback
        self.events = events
        self._topology = topology
        self._router = router

    @property
    def zones(self) -> _core.ZoneTree:
        """The zones, from which the core computes routes."""
        return self._router.zones

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

    def with_loopback(self, bandwidth: float, latency: float) -> CompiledPlatform:
        """The same with the network model's loopback (bytes/s, s) for the default one."""
        link = self.default_loopback
        if link < 0:
            return self
        bandwidths, latencies = self.floats("link_bandwidth")[:], self.floats("link_latency")[:]
        bandwidths[link], latencies[link] = bandwidth, latency
        changed = {"link_bandwidth": Column(bandwidths), "link_latency": Column(latencies)}
        return CompiledPlatform(
            self._topology, self._router, self.events, **{**self.columns, **changed}
        )


def compile_platform(
    topology: Topology,
    resources: Resources,
    profiles: Sequence[ResourceProfile],
    router: Router,
) -> CompiledPlatform:
    """Turn a platform into arrays; see `CompiledPlatform`."""
    return CompiledPlatform(topology, router, _compile_events(profiles), **resources.columns)


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
