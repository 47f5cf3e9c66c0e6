"""Writes a platform as XML, of which reading makes the same platform."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from tisim.errors import InputError
from tisim.platform.description.elements import Elements
from tisim.platform.description.node import Node
from tisim.platform.description.numbers import Numbers
from tisim.platform.description.rewriting import Rewriter
from tisim.platform.description.schema import ELEMENTS
from tisim.platform.description.xml import parse_document, quoted
from tisim.platform.links import DEFAULT_LOOPBACK
from tisim.platform.profiles import BANDWIDTH, LATENCY, SPEED, STATE, Profile, ResourceProfile
from tisim.platform.resources import Resources

if TYPE_CHECKING:
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
    rewriter = Rewriter(topology, resources)
    lines = [*_HEAD]
    for node in description.children:
        for rewritten in rewriter.rewritten(node):
            lines += _lines(rewritten, 1)
    lines += _profile_lines(profiles, topology)
    text = "\n".join([*lines, "</platform>", ""])
    if not _describes(text, topology, resources, profiles):
        raise InputError(
            "the platform file format cannot say this platform; keep it in Python, where it can be "
            "pickled"
        )
    return text


def _lines(node: Node, depth: int) -> Iterator[str]:
    indent = "  " * depth
    defaults = ELEMENTS[node.tag].defaults
    attributes = "".join(
        f" {name}={quoted(value)}"
        for name, value in node.attributes.items()
        if value != defaults.get(name) and name not in _REWRITTEN
    )
    if not node.children:
        yield f"{indent}<{node.tag}{attributes}/>"
        return
    yield f"{indent}<{node.tag}{attributes}>"
    for child in node.children:
        yield from _lines(child, depth + 1)
    yield f"{indent}</{node.tag}>"


def _profile_lines(profiles: Sequence[ResourceProfile], topology: Topology) -> Iterator[str]:
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
        table = topology.links if entry.is_link else topology.hosts
        element = quoted(table.name(entry.index))
        kind = _KINDS[entry.is_link, entry.what]
        trace = names[entry.profile]
        yield f'  <trace_connect kind="{kind}" trace="{trace}" element={element}/>'


def _describes(
    text: str, topology: Topology, resources: Resources, profiles: Sequence[ResourceProfile]
) -> bool:
    """Whether a platform file has these hosts, links and profiles."""
    document = parse_document(text.encode(), "the platform as it is written")
    elements = Elements()
    for node in document.root.children:
        elements.add(node)
    elements.finish(document.root)
    read = elements.construction.topology
    written = Numbers(
        read,
        Resources(
            host_speed=read.hosts.speeds(),
            host_cores=read.hosts.cores(),
            **read.links.columns(),
            **read.disks.columns(),
        ),
    )
    return _content(Numbers(topology, resources), profiles) == _content(
        written, elements.events.profiles
    )


def _content(numbers: Numbers, profiles: Sequence[ResourceProfile]) -> tuple[object, ...]:
    """Hosts in their order, links by name, and profiles of both."""
    hosts, links = numbers.topology.hosts, numbers.topology.links
    named_links = sorted(
        (name, numbers.link(index))
        for index in range(len(links))
        if (name := links.name(index)) != DEFAULT_LOOPBACK
    )
    changes = [
        (entry.is_link, (links if entry.is_link else hosts).name(entry.index), entry.what)
        for entry in profiles
    ]
    return (
        [(hosts.name(index), numbers.host(index)) for index in range(len(hosts))],
        named_links,
        changes,
        [entry.profile for entry in profiles],
    )
