"""The numbers that the hosts and links of a platform have now."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tisim.platform.description.node import Node, make_node

if TYPE_CHECKING:
    from array import array
    from collections.abc import Mapping

    from tisim.platform.resources import Resources
    from tisim.platform.topology import Topology

#: The property of a link, or of a cluster, that gives the burst of its links, in bytes. SimGrid
#: ignores properties that it does not know.
BURST = "tisim/burst"


class LinkNow(NamedTuple):
    """Bandwidth (bytes/s), latency (s), sharing and burst (bytes) of a link."""

    bandwidth: float
    latency: float
    fatpipe: bool
    burst: float = 0.0


class HostNow(NamedTuple):
    """Speed of a core (flop/s) and number of cores of a host."""

    speed: float
    cores: int


class Numbers:
    """The numbers of hosts and links, by index and by name.

    Parameters
    ----------
    topology
        Names and indices.
    resources
        The numbers.
    """

    def __init__(self, topology: Topology, resources: Resources) -> None:
        self.topology = topology
        self._speeds: array[float] = resources.floats("host_speed")
        self._cores: array[int] = resources.integers("host_cores")
        self._bandwidths: array[float] = resources.floats("link_bandwidth")
        self._latencies: array[float] = resources.floats("link_latency")
        self._fatpipes: array[int] = resources.integers("link_fatpipe")
        self._bursts: array[float] = resources.floats("link_burst")

    def host(self, index: int) -> HostNow:
        """The numbers of a host."""
        return HostNow(self._speeds[index], self._cores[index])

    def link(self, index: int) -> LinkNow:
        """The numbers of a link."""
        return LinkNow(
            self._bandwidths[index],
            self._latencies[index],
            bool(self._fatpipes[index]),
            self._bursts[index],
        )

    def hosts(self, first: int, count: int) -> set[HostNow]:
        """The different numbers of consecutive hosts."""
        return {self.host(index) for index in range(first, first + count)}

    def links(self, first: int, count: int) -> list[LinkNow]:
        """The numbers of consecutive links."""
        return [self.link(index) for index in range(first, first + count)]

    def host_index(self, name: str) -> int:
        """The index of a host that the platform has."""
        index = self.topology.hosts.find(name)
        assert index is not None, name
        return index

    def link_index(self, name: str) -> int:
        """The index of a link that the platform has; the upward half of a SPLITDUPLEX one."""
        index = self.topology.links.find(name)
        if index is None:
            index = self.topology.links.find_split(name)
        assert index is not None, name
        return index

    def host_node(self, index: int, properties: Mapping[str, str] | None = None) -> Node:
        """A host as an element of its own."""
        now = self.host(index)
        name = self.topology.hosts.name(index)
        attributes = {"id": name, "speed": repr(now.speed), "core": str(now.cores)}
        return make_node("host", attributes, properties)

    def link_node(self, index: int, properties: Mapping[str, str] | None = None) -> Node:
        """A link, or half of a SPLITDUPLEX one, as an element of its own."""
        now = self.link(index)
        attributes = {
            "id": self.topology.links.name(index),
            "bandwidth": repr(now.bandwidth),
            "latency": repr(now.latency),
            "sharing_policy": "FATPIPE" if now.fatpipe else "SHARED",
        }
        if now.burst:
            properties = {**(properties or {}), BURST: repr(now.burst)}
        return make_node("link", attributes, properties)
