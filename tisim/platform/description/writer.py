"""Writes a platform as XML with its current numbers; reading it gives the same platform."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from tisim.errors import InputError
from tisim.platform.columns import LINK_COLUMNS, Resources
from tisim.platform.description.clusters import cabinet_hosts
from tisim.platform.description.elements import Elements
from tisim.platform.description.node import (
    BURST,
    ELEMENTS,
    Node,
    Value,
    make_node,
    text_of,
)
from tisim.platform.description.routes import route_node
from tisim.platform.description.xml import parse_document, quoted
from tisim.platform.links import DEFAULT_LOOPBACK
from tisim.platform.profiles import KINDS, Profile, ResourceProfile
from tisim.platform.zones.cluster import ClusterSpec, ClusterZone
from tisim.platform.zones.flat import FlatCluster

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tisim.platform.topology import Topology
    from tisim.platform.zones.cluster import LinkKind


class LinkNumbers(NamedTuple):
    """The numbers of a link, as in `LINK_COLUMNS`; `fatpipe` is 1 for a FATPIPE."""

    bandwidth: float
    latency: float
    fatpipe: float
    burst: float = 0.0


class HostNumbers(NamedTuple):
    """Speed of a core (flop/s) and number of cores of a host."""

    speed: float
    cores: int


class Numbers:
    """The numbers of hosts and links, by index and by name.

    `topology`: names and indices.
    """

    def __init__(self, topology: Topology, resources: Resources) -> None:
        self.topology = topology
        self._speeds = resources.floats("host_speed")
        self._cores = resources.integers("host_cores")
        self._links = [resources.buffer(f"link_{name}") for name in LINK_COLUMNS]

    def host(self, index: int) -> HostNumbers:
        """Return the numbers of a host."""
        return HostNumbers(self._speeds[index], self._cores[index])

    def link(self, index: int) -> LinkNumbers:
        """Return the numbers of a link."""
        return LinkNumbers(*(column[index] for column in self._links))

    def hosts(self, first: int, count: int) -> set[HostNumbers]:
        """Return the distinct numbers of consecutive hosts."""
        return {self.host(index) for index in range(first, first + count)}

    def links(self, first: int, count: int) -> list[LinkNumbers]:
        """Return the numbers of consecutive links."""
        return [self.link(index) for index in range(first, first + count)]

    def host_index(self, name: str) -> int:
        """Return the index of a host that the platform has."""
        index = self.topology.hosts.find(name)
        assert index is not None, name
        return index

    def link_index(self, name: str) -> int:
        """Return the index of an existing link; the upward half of a SPLITDUPLEX one."""
        index = self.topology.links.find(name)
        if index is None:
            index = self.topology.links.find_split(name)
        assert index is not None, name
        return index

    def host_node(self, index: int, properties: Mapping[str, str] | None = None) -> Node:
        """Return a ``<host>`` element for a host."""
        now = self.host(index)
        name = self.topology.hosts.name(index)
        attributes: dict[str, Value] = {"id": name, "speed": now.speed, "core": now.cores}
        return make_node("host", attributes, properties)

    def link_node(self, index: int, properties: Mapping[str, str] | None = None) -> Node:
        """Return a ``<link>`` element for a link or one half of a SPLITDUPLEX link."""
        now = self.link(index)
        attributes: dict[str, Value] = {
            "id": self.topology.links.name(index),
            "bandwidth": now.bandwidth,
            "latency": now.latency,
            "sharing_policy": "FATPIPE" if now.fatpipe else "SHARED",
        }
        if now.burst:
            properties = {**(properties or {}), BURST: repr(now.burst)}
        return make_node("link", attributes, properties)


# Attributes of a cluster that hold the bandwidth and latency of each kind of link.
_ATTRIBUTES = {
    "link": ("bw", "lat"),
    "loopback": ("loopback_bw", "loopback_lat"),
    "limiter": ("limiter_link", None),
    "backbone": ("bb_bw", "bb_lat"),
}


def update_cluster(node: Node, zone: ClusterZone, numbers: Numbers) -> Node | None:
    """Return a cluster's element with the current numbers; None if it cannot express them."""
    hosts = numbers.hosts(zone.first_host, zone.hosts)
    if len(hosts) > 1:
        return None
    declared = zone.make_links()
    changes: dict[str, Value] = {}
    kinds: dict[str, LinkKind] = {}
    for role, position in declared.first_of_roles().items():
        kind: LinkKind = getattr(zone.spec, role)
        now = numbers.link(zone.first_link + position)
        bandwidth, latency = _ATTRIBUTES[role]
        if now.bandwidth != kind.bandwidth:
            changes[bandwidth] = now.bandwidth
            kind = kind._replace(bandwidth=now.bandwidth)
        if latency is not None and now.latency != kind.latency:
            changes[latency] = now.latency
            kind = kind._replace(latency=now.latency)
        if role == "backbone" and now.fatpipe != kind.fatpipe:
            changes["bb_sharing_policy"] = "FATPIPE" if now.fatpipe else "SHARED"
            kind = kind._replace(fatpipe=bool(now.fatpipe))
        kinds[role] = kind
    links = zone.with_spec(ClusterSpec(**(zone.spec._asdict() | kinds))).make_links()
    said = map(LinkNumbers, *map(links.column, LINK_COLUMNS))
    if list(said) != numbers.links(zone.first_link, len(links)):
        return None
    return _with(node, changes | _changed_host(node, numbers.host(zone.first_host)))


def update_cabinet(node: Node, numbers: Numbers) -> Node | None:
    """Return a cabinet's element with the current numbers; None if it cannot express them."""
    names = cabinet_hosts(node)
    hosts = {numbers.host(numbers.host_index(name)) for name in names}
    links = {
        numbers.link(numbers.link_index(f"link_{name}_{half}"))
        for name in names
        for half in ("UP", "DOWN")
    }
    host, link = next(iter(hosts)), next(iter(links))
    if len(hosts) > 1 or len(links) > 1 or host.cores != 1 or link.fatpipe:
        return None
    return _with(node, {"speed": host.speed, "bw": link.bandwidth, "lat": link.latency})


def update_peer(node: Node, numbers: Numbers) -> Node:
    """Return a peer's element with the current numbers."""
    name = node["id"]
    host = numbers.host(numbers.host_index(name))
    up = numbers.link(numbers.link_index(f"link_{name}_UP"))
    down = numbers.link(numbers.link_index(f"link_{name}_DOWN"))
    if host.cores != 1 or any(link.latency or link.fatpipe for link in (up, down)):
        raise InputError(
            f"the platform file format cannot describe this platform: the peer {name!r} has one "
            "core and SHARED links without latency there; leave these as they are, or replace the "
            "peer by a host and links in a zone with another routing"
        )
    bandwidths = {"bw_in": down.bandwidth, "bw_out": up.bandwidth}
    return _with(node, {"speed": host.speed, **bandwidths})


def can_be_splitduplex(links: Sequence[LinkNumbers]) -> bool:
    """Return True if one SPLITDUPLEX link can describe both halves: equal numbers and SHARED."""
    return len(set(links)) == 1 and not links[0].fatpipe


def _changed_host(node: Node, now: HostNumbers) -> dict[str, Value]:
    """Return the changed attributes of a host or cluster whose hosts have new numbers."""
    changed: dict[str, Value] = {}
    if now.speed != node.number("speed"):
        changed = {"speed": now.speed, "pstate": "0", "availability": "1"}
    if now.cores != node.number("core"):
        changed["core"] = now.cores
    return {name: value for name, value in changed.items() if name in node.attributes}


def _with(node: Node, changes: Mapping[str, Value]) -> Node:
    return dataclasses.replace(node, attributes={**node.attributes, **changes})


# Maximum number of routes in a file: some 50 MB.
_MAX_ROUTES = 100_000


def expand_cabinet(node: Node, numbers: Numbers) -> Iterator[Node]:
    """Yield the hosts and links of a cabinet."""
    for name in cabinet_hosts(node):
        up, down = (f"link_{name}_{half}" for half in ("UP", "DOWN"))
        yield numbers.host_node(numbers.host_index(name))
        yield numbers.link_node(numbers.link_index(up))
        yield numbers.link_node(numbers.link_index(down))
        yield make_node("host_link", {"id": name, "up": up, "down": down})


def expand_cluster(node: Node, zone: ClusterZone, numbers: Numbers) -> Node:
    """Return a cluster as a zone: a star if possible, else with a route per pair of hosts."""
    first, count = zone.first_link, len(zone.make_links())
    names = [numbers.topology.links.name(index) for index in range(first, first + count)]
    if len(set(names)) < count:
        raise _unwritable(zone, "it has several links with the same name")
    hosts = range(zone.first_host, zone.first_host + zone.hosts)
    children = [child for child in node.children if child.tag == "prop"]
    children += [numbers.host_node(index, zone.properties) for index in hosts]
    if isinstance(zone, FlatCluster):
        children.append(make_node("router", {"id": zone.spec.router}))
    backbone = zone.backbone_links if isinstance(zone, FlatCluster) else ()
    if isinstance(zone, FlatCluster) and _is_star(zone, numbers):
        routing, parts = "Cluster", _star_parts(zone, numbers)
    else:
        routing, parts, backbone = "Full", _routes(zone, numbers), ()
    links = (index for index in range(first, first + count) if index not in backbone)
    children += [numbers.link_node(index) for index in links]
    children += parts
    attributes: dict[str, Value] = {"id": node["id"], "routing": routing}
    return Node("zone", attributes, node.file, node.line, children)


def _is_star(zone: FlatCluster, numbers: Numbers) -> bool:
    """Return True if a zone with routing Cluster has the same routes as the flat cluster."""
    shared = not any(numbers.link(index).fatpipe for index in zone.backbone_links)
    return zone.spec.limiter is None and shared


def _star_parts(zone: FlatCluster, numbers: Numbers) -> Iterator[Node]:
    name = numbers.topology.links.name
    router = zone.hosts
    for host in range(zone.hosts):
        label = zone.label(host)
        up = name(zone.local_route(host, router).links[0])
        down = name(zone.local_route(router, host).links[-1])
        yield make_node("host_link", {"id": label, "up": up, "down": down})
        if zone.spec.loopback is not None:
            (loopback,) = zone.local_route(host, host).links
            yield route_node("route", label, label, [name(loopback)], symmetrical=True)
    for index in zone.backbone_links:
        now = numbers.link(index)
        attributes = {"bandwidth": now.bandwidth, "latency": now.latency}
        yield make_node("backbone", {"id": name(index), **attributes})


def _routes(zone: ClusterZone, numbers: Numbers) -> Iterator[Node]:
    if zone.size**2 > _MAX_ROUTES:
        raise _unwritable(zone, f"it would be {zone.size**2} routes")
    name = numbers.topology.links.name
    for src in range(zone.size):
        for dst in range(zone.size):
            links = zone.local_route(src, dst).links
            if links:
                ends = zone.label(src), zone.label(dst)
                yield route_node("route", *ends, [name(link) for link in links], symmetrical=False)
            elif src < zone.hosts:
                raise _unwritable(zone, "messages within a host use no link (no loopback_bw)")


def _unwritable(zone: ClusterZone, why: str) -> InputError:
    return InputError(
        "the platform file format cannot describe this platform: links or hosts of the cluster "
        f"{zone.name} differ, and written one by one, {why}; change all of them in the same way, "
        "or keep the platform in Python, where it can be pickled"
    )


_ROUTES = ("route", "zoneRoute", "bypassRoute", "bypassZoneRoute")
_OTHER_HALF = {"UP": "DOWN", "DOWN": "UP", "NONE": "NONE"}
_OTHER_END = {"src": "dst", "dst": "src", "gw_src": "gw_dst", "gw_dst": "gw_src"}
# Topologies whose names and routes depend on the preceding clusters in the file.
_COUNTED = ("FAT_TREE", "DRAGONFLY")


class Rewriter:
    """Updates elements, in order, to the current numbers of a platform.

    A cluster, cabinet or SPLITDUPLEX link whose parts differ is replaced by the elements that it
    represents. `topology`, `resources`: the platform built from the elements; the numbers may have
    changed since, unless the platform `is_as_built`.
    """

    def __init__(self, topology: Topology, resources: Resources, is_as_built: bool) -> None:
        self._is_as_built = is_as_built
        self._numbers = Numbers(topology, resources)
        zones = [] if topology.root is None else topology.root.walk()
        self._clusters = {zone.name: zone for zone in zones if isinstance(zone, ClusterZone)}
        # SPLITDUPLEX links written as two links.
        self._halved: set[str] = set()
        # Topologies with a cluster written as a zone.
        self._expanded: set[str] = set()

    def rewrite(self, node: Node) -> Iterator[Node]:
        """Yield the elements that replace an element; profiles are omitted."""
        if node.tag in _ROUTES:
            yield from self._routes(node)
            return
        match node.tag:
            case "trace" | "trace_connect":
                return
            case "zone":
                children = [new for child in node.children for new in self.rewrite(child)]
                yield dataclasses.replace(node, children=children)
            case "cluster":
                yield self._cluster(node)
            case "cabinet":
                yield from self._cabinet(node)
            case "peer":
                yield update_peer(node, self._numbers)
            case "host":
                now = self._numbers.host(self._numbers.host_index(node["id"]))
                yield _with(node, _changed_host(node, now))
            case "link" | "backbone":
                yield from self._link(node)
            case _:
                yield node

    def _cluster(self, node: Node) -> Node:
        if self._is_as_built:
            return node
        zone = self._clusters[node["id"]]
        topology = node["topology"]
        updated = None
        if topology not in self._expanded:
            updated = update_cluster(node, zone, self._numbers)
        if updated is not None:
            return updated
        if topology in _COUNTED:
            self._expanded.add(topology)
        self._note_halves(zone.first_link, len(zone.make_links()))
        return expand_cluster(node, zone, self._numbers)

    def _cabinet(self, node: Node) -> Iterator[Node]:
        updated = update_cabinet(node, self._numbers)
        if updated is not None:
            yield updated
            return
        for new in expand_cabinet(node, self._numbers):
            if new.tag == "link":
                self._halved.add(new["id"].removesuffix("_UP"))
            yield new

    def _note_halves(self, first: int, count: int) -> None:
        for index in range(first, first + count):
            self._halved.add(self._numbers.topology.links.name(index).removesuffix("_UP"))

    def _link(self, node: Node) -> Iterator[Node]:
        index = self._numbers.link_index(node["id"])
        is_split = node.tag == "link" and node["sharing_policy"] == "SPLITDUPLEX"
        if is_split and not can_be_splitduplex(self._numbers.links(index, 2)):
            self._halved.add(node["id"])
            for half in (index, index + 1):
                yield self._numbers.link_node(half, node.properties())
            return
        now = self._numbers.link(index)
        changed: dict[str, Value] = {}
        if now.bandwidth != node.number("bandwidth"):
            changed["bandwidth"] = now.bandwidth
        if now.latency != node.number("latency"):
            changed["latency"] = now.latency
        if node.tag == "link" and not is_split:
            changed["sharing_policy"] = "FATPIPE" if now.fatpipe else "SHARED"
        elif now.fatpipe:
            raise InputError(
                "the platform file format cannot describe this platform: the backbone "
                f"{node['id']!r} of a zone is SHARED there; leave its sharing as it is"
            )
        yield _with(node, changed)

    def _routes(self, node: Node) -> Iterator[Node]:
        """Yield a route; one per direction if the halves of its links became separate links."""
        hops = [(child["id"], child["direction"]) for child in node.children]
        if not any(name in self._halved for name, direction in hops if direction != "NONE"):
            yield node
            return
        one_way = {"symmetrical": "NO"} if "symmetrical" in node.attributes else {}
        there = _with(node, one_way)
        yield self._with_hops(there, hops)
        if one_way and node["symmetrical"] != "NO" and node["src"] != node["dst"]:
            turned = {_OTHER_END.get(key, key): value for key, value in there.attributes.items()}
            back = [(name, _OTHER_HALF[direction]) for name, direction in reversed(hops)]
            yield self._with_hops(dataclasses.replace(node, attributes=turned), back)

    def _with_hops(self, node: Node, hops: list[tuple[str, str]]) -> Node:
        children = []
        for name, direction in hops:
            if direction != "NONE" and name in self._halved:
                name, direction = f"{name}_{direction}", "NONE"
            children.append(Node("link_ctn", {"id": name, "direction": direction}))
        return dataclasses.replace(node, children=children)


_HEAD: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
    '<platform version="4.1">',
)
# Profiles of a platform are written as <trace> elements after the zones.
_REWRITTEN: Final = frozenset(
    {"speed_file", "state_file", "bandwidth_file", "latency_file", "state"}
)
_KIND_OF: Final = {changed: kind for kind, changed in KINDS.items()}


def write_xml(
    description: Node,
    topology: Topology,
    resources: Resources,
    profiles: Sequence[ResourceProfile],
) -> str:
    """Return the text of a platform file.

    `description`: the elements of the platform. `topology`, `resources`, `profiles`: the platform
    built from them; the numbers may have changed since.
    """
    is_as_built = not profiles and _same_numbers(resources, topology.declared_numbers())
    rewriter = Rewriter(topology, resources, is_as_built)
    lines = [*_HEAD]
    for node in description.children:
        for rewritten in rewriter.rewrite(node):
            lines += _lines(rewritten, 1)
    lines += _profile_lines(profiles, topology)
    text = "\n".join([*lines, "</platform>", ""])
    read = parse_document(text.encode(), "the platform as it is written").root
    # Reading back the platform's own elements gives the same platform.
    is_same = is_as_built and read.children == description.children
    if not (is_same or _describes(read, topology, resources, profiles)):
        raise InputError(
            "the platform file format cannot describe this platform; keep it in Python, where it "
            "can be pickled"
        )
    return text


def _same_numbers(some: Resources, others: Resources) -> bool:
    columns = ((numbers.buffer(name) for numbers in (some, others)) for name in some.typecodes)
    return all(ours.tobytes() == theirs.tobytes() for ours, theirs in columns)


def _lines(node: Node, depth: int) -> Iterator[str]:
    indent = "  " * depth
    defaults = ELEMENTS[node.tag].defaults
    attributes = "".join(
        f" {name}={quoted(text)}"
        for name, text in zip(node.attributes, map(text_of, node.attributes.values()), strict=True)
        if name not in _REWRITTEN and (name not in defaults or text != text_of(defaults[name]))
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
        kind = _KIND_OF[entry.is_link, entry.what]
        trace = names[entry.profile]
        yield f'  <trace_connect kind="{kind}" trace="{trace}" element={element}/>'


def _describes(
    root: Node, topology: Topology, resources: Resources, profiles: Sequence[ResourceProfile]
) -> bool:
    """Return True if the elements of a document describe the same hosts, links and profiles."""
    elements = Elements()
    for node in root.children:
        elements.add(node)
    elements.finish(root)
    read = elements.construction.topology
    return _content(Numbers(topology, resources), profiles) == _content(
        Numbers(read, read.declared_numbers()), elements.events.profiles
    )


def _content(numbers: Numbers, profiles: Sequence[ResourceProfile]) -> tuple[object, ...]:
    """Return the hosts in order, the links by name, and the profiles of both."""
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
