"""Reads ``<trace>``, ``<trace_connect>`` and the ``*_file`` attributes: what changes over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.platform.description.values import read_number
from tisim.platform.profiles import (
    BANDWIDTH,
    LATENCY,
    SPEED,
    STATE,
    Profile,
    ResourceProfile,
    parse_profile,
    read_profile,
)
from tisim.platform.topology import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tisim.platform.description.construction import Construction
    from tisim.platform.description.node import Node

_OFF = Profile((0.0,), (0.0,))
_HOST_FILES = (("speed_file", SPEED), ("state_file", STATE))
_LINK_FILES = (
    ("bandwidth_file", BANDWIDTH),
    ("latency_file", LATENCY),
    ("state_file", STATE),
)
_KINDS = {
    "HOST_AVAIL": STATE,
    "SPEED": SPEED,
    "LINK_AVAIL": STATE,
    "BANDWIDTH": BANDWIDTH,
    "LATENCY": LATENCY,
}


class EventReader:
    """Collects the profiles of a platform's resources.

    Attributes
    ----------
    profiles
        What has been attached so far.
    connections
        The ``<trace_connect>`` elements, to be resolved when all names are known.
    """

    def __init__(self, construction: Construction, version: float) -> None:
        self.profiles: list[ResourceProfile] = []
        self.connections: list[Node] = []
        self._construction = construction
        self._version = version
        self._traces: dict[str, Profile] = {}

    def add_trace(self, node: Node) -> None:
        """Read a ``<trace>``, from its text or from the file that it names."""
        period = read_number(node, "periodicity")
        if node["file"]:
            profile = read_profile(self._construction.find_file(node, node["file"]))
        else:
            profile = self._parse(node, period)
        if self._traces.setdefault(node["id"], profile) is not profile:
            self._construction.warn(
                node, f"trace {node['id']!r} is declared twice; the first counts"
            )

    def _parse(self, node: Node, period: float) -> Profile:
        loop_after = self._version < 4
        try:
            return parse_profile(
                node.text, period, loop_after=loop_after, file=node.file, line=node.line or 1
            )
        except InputError as error:
            # Text that Python made has no lines.
            raise error if node.file is not None else node.error(error.message) from None

    def add_host_profiles(self, node: Node, first: int, count: int) -> None:
        """Attach the files of a host, peer or cluster, and the state of a version 3 host."""
        indices = range(first, first + count)
        for attribute, what in _HOST_FILES:
            self._attach_file(node, attribute, False, indices, what)
        if node.attributes.get("state") == "OFF":
            self._attach(_OFF, False, indices, STATE)

    def add_link_profiles(self, node: Node, indices: range) -> None:
        """Attach the files of a link, both halves of it, and the state of a version 3 link."""
        for attribute, what in _LINK_FILES:
            self._attach_file(node, attribute, True, indices, what)
        if node["state"] == "OFF":
            self._attach(_OFF, True, indices, STATE)

    def _attach_file(
        self, node: Node, attribute: str, is_link: bool, indices: range, what: int
    ) -> None:
        if node[attribute]:
            path = self._construction.find_file(node, node[attribute])
            self._attach(read_profile(path), is_link, indices, what)

    def _attach(self, profile: Profile, is_link: bool, indices: Iterable[int], what: int) -> None:
        self.profiles += (ResourceProfile(is_link, index, what, profile) for index in indices)

    def connect_traces(self) -> None:
        """Attach the traces that ``<trace_connect>`` elements name."""
        for node in self.connections:
            profile = self._traces.get(node["trace"])
            if profile is None:
                hint = did_you_mean(node["trace"], self._traces)
                raise node.error(f"there is no trace {node['trace']!r}{hint}")
            is_link = node["kind"] not in ("HOST_AVAIL", "SPEED")
            indices = self._links_of(node) if is_link else [self._host_of(node)]
            self._attach(profile, is_link, indices, _KINDS[node["kind"]])

    def _host_of(self, node: Node) -> int:
        topology = self._construction.topology
        host = topology.hosts.find(node["element"])
        if host is None:
            hint = did_you_mean(node["element"], topology.host_names())
            raise node.error(f"there is no host {node['element']!r}{hint}")
        return host

    def _links_of(self, node: Node) -> list[int]:
        links = self._construction.topology.links
        link = links.find(node["element"])
        if link is not None:
            return [link]
        up = links.find_split(node["element"])
        if up is None:
            hint = did_you_mean(node["element"], links.listed_names())
            raise node.error(f"there is no link {node['element']!r}{hint}")
        return [up, up + 1]
