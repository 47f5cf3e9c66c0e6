"""Writes a platform as XML, of which reading makes the same platform."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import quoteattr

from tisim.errors import InputError
from tisim.platform.description.elements import Elements
from tisim.platform.description.node import Node
from tisim.platform.description.schema import ELEMENTS
from tisim.platform.description.values import read_bandwidth, read_cores, read_speed
from tisim.platform.description.xml import parse_document
from tisim.platform.profiles import BANDWIDTH, LATENCY, SPEED, STATE, Profile, ResourceProfile
from tisim.quantities.parsing import parse_time

if TYPE_CHECKING:
    from tisim.platform.resources import Resources
    from tisim.platform.topology import Topology

_HEAD: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
    '<platform version="4.1">',
)
# Profiles of a platform are written as <trace> elements after the zones.
_REWRITTEN: Final = frozenset(
    {"speed_file", "state_file", "bandwidth_file", "latency_file", "state"}
)
_KINDS: Final = {
    (False, SPEED): "SPEED",
    (False, STATE): "HOST_AVAIL",
    (True, BANDWIDTH): "BANDWIDTH",
    (True, LATENCY): "LATENCY",
    (True, STATE): "LINK_AVAIL",
}


def write_xml(
    description: Node,
    topology: Topology,
    resources: Resources,
    profiles: Sequence[ResourceProfile],
) -> str:
    """The text of a platform file.

    Parameters
    ----------
    description
        The elements of the platform.
    topology, resources, profiles
        What they came to; the numbers may have changed since.

    Raises
    ------
    InputError
        If the format cannot say the numbers.
    """
    writer = _Writer(topology, resources)
    lines = [*_HEAD]
    for node in description.children:
        lines += writer.lines(node, 1)
    lines += writer.profile_lines(profiles)
    text = "\n".join([*lines, "</platform>", ""])
    if not _describes(text, resources, profiles):
        raise InputError(
            "the platform file format cannot say this platform: some hosts or links of a cluster, "
            "a cabinet or a peer have other numbers than it declares"
        )
    return text


class _Writer:
    """Writes the elements of a platform with the numbers that it has now."""

    def __init__(self, topology: Topology, resources: Resources) -> None:
        self._topology = topology
        self._resources = resources
        root = topology.root
        zones = [] if root is None else root.walk()
        self._first_hosts = {zone.name: getattr(zone, "first_host", -1) for zone in zones}

    def lines(self, node: Node, depth: int) -> Iterator[str]:
        if node.tag in ("trace", "trace_connect"):
            return
        indent = "  " * depth
        start = f"{indent}<{node.tag}{self._attributes(node)}"
        if not node.children:
            yield start + "/>"
            return
        yield start + ">"
        for child in node.children:
            yield from self.lines(child, depth + 1)
        yield f"{indent}</{node.tag}>"

    def _attributes(self, node: Node) -> str:
        attributes = node.attributes | self._changed_numbers(node)
        defaults = ELEMENTS[node.tag].defaults
        return "".join(
            f" {name}={quoteattr(value)}"
            for name, value in attributes.items()
            if value != defaults.get(name) and name not in _REWRITTEN
        )

    def _changed_numbers(self, node: Node) -> dict[str, str]:
        """The attributes whose numbers are not those of the description any more."""
        if node.tag in ("host", "cluster"):
            return self._changed_host(node)
        if node.tag in ("link", "backbone"):
            return self._changed_link(node)
        return {}

    def _changed_host(self, node: Node) -> dict[str, str]:
        index = self._first_hosts.get(node["id"]) if node.tag == "cluster" else None
        if index is None:
            index = self._topology.hosts.find(node["id"])
        assert index is not None
        changed = {}
        speed = self._resources.buffer("host_speed")[index]
        if speed != read_speed(node, "speed"):
            changed["speed"] = repr(speed)
            if node.tag == "host":
                changed |= {"pstate": "0", "availability": "1"}
        cores = self._resources.buffer("host_cores")[index]
        if cores != read_cores(node):
            changed["core"] = str(cores)
        return changed

    def _changed_link(self, node: Node) -> dict[str, str]:
        links = self._topology.links
        index = links.find(node["id"])
        if index is None:
            index = links.find_split(node["id"])
        assert index is not None
        changed = {}
        bandwidth = self._resources.buffer("link_bandwidth")[index]
        if bandwidth != read_bandwidth(node, "bandwidth", "bandwidth"):
            changed["bandwidth"] = repr(bandwidth)
        latency = self._resources.buffer("link_latency")[index]
        if latency != parse_time(node["latency"]):
            changed["latency"] = repr(latency)
        if node.tag == "link" and node["sharing_policy"] != "SPLITDUPLEX":
            is_fatpipe = self._resources.buffer("link_fatpipe")[index]
            changed["sharing_policy"] = "FATPIPE" if is_fatpipe else "SHARED"
        return changed

    def profile_lines(self, profiles: Sequence[ResourceProfile]) -> Iterator[str]:
        names: dict[Profile, str] = {}
        for entry in profiles:
            profile = entry.profile
            if profile not in names:
                names[profile] = f"profile-{len(names)}"
                period = -1.0 if profile.period is None else profile.period
                yield f'  <trace id="{names[profile]}" periodicity="{period!r}">'
                for time, value in zip(profile.times, profile.values, strict=True):
                    yield f"    {time!r} {value!r}"
                yield "  </trace>"
        for entry in profiles:
            table = self._topology.links if entry.is_link else self._topology.hosts
            element = quoteattr(table.name(entry.index))
            kind = _KINDS[entry.is_link, entry.what]
            trace = names[entry.profile]
            yield f'  <trace_connect kind="{kind}" trace="{trace}" element={element}/>'


def _describes(text: str, resources: Resources, profiles: Sequence[ResourceProfile]) -> bool:
    """Whether a platform file has these numbers."""
    document = parse_document(text.encode(), "the platform as it is written")
    elements = Elements()
    for node in document.root.children:
        elements.add(node)
    elements.finish(document.root)
    topology = elements.construction.topology
    hosts, links = topology.hosts, topology.links
    return (
        hosts.speeds() == resources.buffer("host_speed")
        and hosts.cores() == resources.buffer("host_cores")
        and links.bandwidths() == resources.buffer("link_bandwidth")
        and links.latencies() == resources.buffer("link_latency")
        and links.fatpipes() == resources.buffer("link_fatpipe")
        and elements.events.profiles == list(profiles)
    )
