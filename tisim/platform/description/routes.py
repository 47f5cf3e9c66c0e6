"""Reads and creates ``<route>``, ``<zoneRoute>`` and bypass elements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tisim.errors import InputError
from tisim.platform.description.node import make_node
from tisim.platform.topology import Topology, did_you_mean
from tisim.platform.zones.base import LocalRoute, Zone
from tisim.platform.zones.star import StarZone, VertexLinks
from tisim.platform.zones.table import TableZone

if TYPE_CHECKING:
    from tisim.platform.description.node import Node
    from tisim.platform.zones.base import Point


#: A link of a route: its name, or its name and ``"UP"`` or ``"DOWN"``.
Hop = str | tuple[str, str]

_T = TypeVar("_T")


class _Hops(NamedTuple):
    """The links of a route and of its reverse route."""

    there: tuple[int, ...]
    back: tuple[int, ...]


def add_route(topology: Topology, zone: Zone, node: Node) -> None:
    """Declare a route between two hosts or two zones in a zone."""
    src, dst = _end(topology, zone, node, "src"), _end(topology, zone, node, "dst")
    gateways = _gateways(topology, zone, node, src, dst)
    hops = _hops(topology, node)
    if isinstance(zone, StarZone):
        _add_star_loopback(zone, node, src, dst, hops)
        return
    if not isinstance(zone, TableZone):
        raise node.error(f"zone {zone.name} (routing={zone.kind}) does not accept declared routes")
    gw_src, gw_dst = gateways
    if not zone.add_route(src, dst, LocalRoute(hops.there, gw_src, gw_dst)):
        raise node.error(
            f"zone {zone.name} has a route from {node['src']} to {node['dst']} already (routes "
            "apply to both directions unless symmetrical=NO)"
        )
    if node["symmetrical"] == "NO" or src == dst:
        return
    if not zone.add_route(dst, src, LocalRoute(hops.back, gw_dst, gw_src)):
        raise node.error(
            f"zone {zone.name} has a route from {node['dst']} to {node['src']} already; "
            "declare this one with symmetrical=NO"
        )


def add_bypass(topology: Topology, zone: Zone, node: Node) -> None:
    """Declare a route that overrides the one that the zones would compute."""
    src, dst = _point(topology, node, "src"), _point(topology, node, "dst")
    hops = _hops(topology, node)
    gw_src = gw_dst = None
    if node.tag == "bypassZoneRoute":
        gw_src = _gateway(topology, node, "gw_src", _inner_zone(zone, node, src, "src"))
        gw_dst = _gateway(topology, node, "gw_dst", _inner_zone(zone, node, dst, "dst"))
    elif src[0] is not zone or dst[0] is not zone:
        raise node.error(f"both ends of a bypassRoute must be directly in its zone {zone.name}")
    if (src, dst) in zone.bypasses:
        raise node.error(f"the bypass from {node['src']} to {node['dst']} already exists")
    zone.bypasses[src, dst] = LocalRoute(hops.there, gw_src, gw_dst)


def _add_star_loopback(zone: StarZone, node: Node, src: int, dst: int, hops: _Hops) -> None:
    if src != dst:
        raise node.error(
            f"zone {zone.name} (routing={zone.kind}) routes through the links of its hosts; only a "
            "route from a host to itself can be declared"
        )
    own = zone.links_of(src)
    zone.vertex_links[src] = VertexLinks(own.up, own.down, hops.there)


def _point(topology: Topology, node: Node, attribute: str) -> Point:
    name = node[attribute]
    point = topology.find_point(name)
    if point is None:
        hint = did_you_mean(name, topology.points, topology.host_names())
        raise node.error(
            f"{attribute}={name!r} is not a host, router or zone declared so far{hint}"
        )
    return point


def _end(topology: Topology, zone: Zone, node: Node, attribute: str) -> int:
    """Return the vertex of this zone at one end of a route."""
    holder, local = _point(topology, node, attribute)
    if holder is not zone:
        raise node.error(
            f"{attribute}={node[attribute]!r} is in zone {holder.name}, not directly in zone "
            f"{zone.name}"
        )
    return local


def _inner_zone(zone: Zone, node: Node, point: Point, attribute: str) -> Zone:
    """Return the zone that a point represents."""
    holder, local = point
    if not holder.children:
        raise node.error(f"{attribute}={node[attribute]!r} of a <{node.tag}> must be a zone")
    if not zone.contains(point):
        raise node.error(f"zone {node[attribute]} is not in zone {zone.name}")
    return holder.children[local]


def _gateways(
    topology: Topology, zone: Zone, node: Node, src: int, dst: int
) -> tuple[Point | None, Point | None]:
    if node.tag == "route":
        if zone.children:
            raise node.error(f"zone {zone.name} contains zones: use <zoneRoute> with gateways")
        return None, None
    inner_src = _inner_zone(zone, node, (zone, src), "src")
    inner_dst = _inner_zone(zone, node, (zone, dst), "dst")
    gw_src = _gateway(topology, node, "gw_src", inner_src)
    gw_dst = _gateway(topology, node, "gw_dst", inner_dst)
    if gw_src == gw_dst:
        raise node.error(f"the gateways of a <{node.tag}> must differ")
    return gw_src, gw_dst


def _gateway(topology: Topology, node: Node, attribute: str, inner: Zone) -> Point:
    point = _point(topology, node, attribute)
    if point[0].children:
        raise node.error(f"{attribute}={node[attribute]!r} must be a host or a router, not a zone")
    if not inner.contains(point):
        raise node.error(
            f"{attribute}={node[attribute]!r} is in zone {point[0].name}, not in {inner.name}"
        )
    return point


def _hops(topology: Topology, node: Node) -> _Hops:
    there: list[int] = []
    back: list[int] = []
    for child in node.children:
        name, direction = child["id"], child["direction"]
        split = topology.links.find_split(name) if direction != "NONE" else None
        link = topology.links.find(name) if direction == "NONE" else split
        if link is None:
            raise child.error(_why_no_link(topology, name, direction))
        forward = link + 1 if direction == "DOWN" else link
        there.append(forward)
        back.append(forward if split is None else 2 * split + 1 - forward)
    if not there:
        raise node.error(f"the route from {node['src']} to {node['dst']} has no <link_ctn>")
    return _Hops(tuple(there), tuple(reversed(back)))


def _why_no_link(topology: Topology, name: str, direction: str) -> str:
    if direction == "NONE" and topology.links.find_split(name) is not None:
        return f"link {name!r} is SPLITDUPLEX: give direction=UP or direction=DOWN"
    if direction != "NONE" and topology.links.find(name) is not None:
        return f"link {name!r} is not SPLITDUPLEX and has no direction {direction}"
    return f"no link {name!r}{did_you_mean(name, topology.links.listed_names())}"


def route_node(
    tag: str,
    src: str,
    dst: str,
    links: Sequence[Hop],
    gateways: tuple[str, str] | None = None,
    symmetrical: bool | None = None,
) -> Node:
    """Return a route or bypass element; None for attributes that the element lacks."""
    attributes = {"src": src, "dst": dst}
    if gateways is not None:
        first, last = pair_of(gateways, "gateways must be two names")
        attributes |= {"gw_src": first, "gw_dst": last}
    if symmetrical is not None:
        attributes["symmetrical"] = "YES" if symmetrical else "NO"
    node = make_node(tag, attributes)
    for name, direction in _hops_of(links):
        node.children.append(make_node("link_ctn", {"id": name, "direction": direction}))
    return node


def _hops_of(links: Sequence[Hop]) -> Iterator[tuple[str, str]]:
    """Yield the links of a route, each with its direction."""
    for hop in listed(links, "links"):
        if isinstance(hop, str):
            yield hop, "NONE"
        else:
            yield pair_of(hop, "a link of a route must be a name, or a name and UP or DOWN")


def pair_of(given: Sequence[_T], what: str) -> tuple[_T, _T]:
    """Return two values; `what` is the start of the error message."""
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
        raise InputError(f"{what}, not {given!r}")
    return given[0], given[1]


def listed(given: Iterable[_T], what: str) -> Iterable[_T]:
    """Return the elements of a list; text is not accepted as a list."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"{what} must be a list, not {given!r}")
    return given
