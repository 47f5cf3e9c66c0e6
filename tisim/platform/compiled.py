"""A platform as arrays for the core, and the zones from which its routes are computed."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tisim.platform.columns import Resources

if TYPE_CHECKING:
    from tisim import _core
    from tisim.platform.profiles import ResourceProfile
    from tisim.platform.router import Router
    from tisim.platform.topology import Topology


class CompiledPlatform(Resources):
    """Hosts and links as arrays, and their routes.

    Attributes
    ----------
    host_speed, host_cores
        Speed of a core (flop/s) and number of cores; shape (hosts,).
    link_bandwidth, link_latency, link_fatpipe
        bytes/s, seconds, 1 for a FATPIPE; shape (links,).
    default_loopback
        Index of the link that takes the network model's bandwidth and latency, or -1.
    events
        Changes of these numbers over time.
    """

    def __init__(
        self,
        topology: Topology,
        router: Router,
        events: Sequence[ResourceProfile],
        **numbers: Iterable[float],
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
        """Return the name of a host."""
        return self._topology.hosts.name(index)

    def link_name(self, index: int) -> str:
        """Return the name of a link."""
        return self._topology.links.name(index)

    def route(self, source: int, destination: int) -> tuple[array[int], float]:
        """Return the links from one host to another, by index, and the latency in seconds.

        Raises
        ------
        InputError
            If there is no route.
        """
        links, latency = self._router.route(source, destination, self.floats("link_latency"))
        return array("i", links), latency

    def with_loopback(self, bandwidth: float, latency: float) -> CompiledPlatform:
        """Return a copy whose default loopback has the network model's numbers (bytes/s, s)."""
        link = self.default_loopback
        if link < 0:
            return self
        bandwidths, latencies = self.floats("link_bandwidth")[:], self.floats("link_latency")[:]
        bandwidths[link], latencies[link] = bandwidth, latency
        changed = {"link_bandwidth": bandwidths, "link_latency": latencies}
        return CompiledPlatform(
            self._topology, self._router, self.events, **{**self.columns, **changed}
        )
