"""The routes of a topology, computed by the core if it is installed."""

from __future__ import annotations

from array import array
from functools import cached_property
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.platform.core_zones import core_zones, has_core
from tisim.platform.routing import find_route, total_latency
from tisim.platform.zones.base import NoRoute

if TYPE_CHECKING:
    from tisim import _core
    from tisim.platform.topology import Topology
    from tisim.platform.zones.base import Term


class Router:
    """Routes of a topology; hosts and links are given by index.

    The core computes them if it is installed. If it finds no route, or is not installed, Python
    searches and gives the reason why there is no route.

    Parameters
    ----------
    topology
        The zones and tables.
    file
        Source of the platform, for messages.
    """

    def __init__(self, topology: Topology, file: str | None) -> None:
        self._topology = topology
        self._file = file

    def find_links(self, src: int, dst: int) -> tuple[list[int], list[Term]]:
        """Return the links between two hosts, all by index, and the terms of the latency."""
        hosts = self._topology.hosts
        links: list[int] = []
        terms: list[Term] = []
        try:
            find_route(hosts.point(src), hosts.point(dst), links, terms)
        except NoRoute as reason:
            raise self._no_route(src, dst, str(reason)) from None
        return links, terms

    @cached_property
    def zones(self) -> _core.ZoneTree:
        """The core's zones, created once for all replays."""
        return core_zones(self._topology)

    def route(self, src: int, dst: int, link_latency: array[float]) -> tuple[list[int], float]:
        """Return the links between two hosts, all by index, and the latency in seconds.

        Parameters
        ----------
        src, dst
            The hosts.
        link_latency
            Latency of each link, in seconds.
        """
        found = self.zones.route(src, dst, link_latency) if has_core() else None
        if found is not None:
            return found
        links, terms = self.find_links(src, dst)
        latency = total_latency(terms, link_latency)
        if not links and latency == 0.0:
            raise self._no_route(src, dst, "no link connects them (loopback_bw declares one)")
        return links, latency

    def _no_route(self, src: int, dst: int, reason: str) -> InputError:
        name = self._topology.hosts.name
        return InputError(
            f"no route from host {name(src)!r} to host {name(dst)!r}: {reason}",
            file=self._file,
        )
