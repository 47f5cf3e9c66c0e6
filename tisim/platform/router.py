"""Finds the route between any two hosts of a platform."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.platform.routing import add_up, find_route
from tisim.platform.zones.base import NoRoute

if TYPE_CHECKING:
    from tisim.platform.topology import Topology
    from tisim.platform.zones.base import Term


class Router:
    """The routes of a topology; hosts and links by index.

    Parameters
    ----------
    topology
        The zones and tables.
    file
        Where the platform comes from, for messages.
    """

    def __init__(self, topology: Topology, file: str | None) -> None:
        self._topology = topology
        self._file = file

    def find_links(self, src: int, dst: int) -> tuple[list[int], list[Term]]:
        """Links between two hosts, all given by index, and the terms of the latency.

        Raises
        ------
        InputError
            If there is no route between the two.
        """
        hosts = self._topology.hosts
        links: list[int] = []
        terms: list[Term] = []
        try:
            find_route(hosts.point(src), hosts.point(dst), links, terms)
        except NoRoute as reason:
            raise self._no_route(src, dst, str(reason)) from None
        return links, terms

    def route(self, src: int, dst: int, link_latency: Sequence[float]) -> tuple[list[int], float]:
        """Links between two hosts, all given by index, and the latency in seconds.

        Parameters
        ----------
        src, dst
            The hosts.
        link_latency
            Of each link, in seconds.

        Raises
        ------
        InputError
            If there is no route between the two.
        """
        links, terms = self.find_links(src, dst)
        latency = add_up(terms, link_latency)
        if not links and latency == 0.0:
            raise self._no_route(src, dst, "no link connects them (loopback_bw declares one)")
        return links, latency

    def _no_route(self, src: int, dst: int, reason: str) -> InputError:
        name = self._topology.hosts.name
        return InputError(
            f"there is no route from host {name(src)!r} to host {name(dst)!r}: {reason}",
            file=self._file,
        )
