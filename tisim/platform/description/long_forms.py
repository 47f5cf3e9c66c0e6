"""Clusters and cabinets whose hosts or links differ, as the elements that they stand for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.platform.description.made_nodes import route_node
from tisim.platform.description.node import Node, make_node
from tisim.platform.description.short_forms import cabinet_hosts
from tisim.platform.zones.flat import FlatCluster

if TYPE_CHECKING:
    from tisim.platform.description.numbers import Numbers
    from tisim.platform.zones.cluster import ClusterZone

# A file of more routes than this would be some 50 MB.
_MOST_ROUTES = 100_000


def long_cabinet(node: Node, numbers: Numbers) -> Iterator[Node]:
    """The hosts and links of a cabinet."""
    for name in cabinet_hosts(node):
        up, down = (f"link_{name}_{half}" for half in ("UP", "DOWN"))
        yield numbers.host_node(numbers.host_index(name))
        yield numbers.link_node(numbers.link_index(up))
        yield numbers.link_node(numbers.link_index(down))
        yield make_node("host_link", {"id": name, "up": up, "down": down})


def long_cluster(node: Node, zone: ClusterZone, numbers: Numbers) -> Node:
    """A cluster as a zone: a star where it is one, else with a route for each pair of hosts.

    Raises
    ------
    InputError
        If a platform file cannot say it, or only with too many routes.
    """
    first, count = zone.first_link, len(zone.make_links())
    names = [numbers.topology.links.name(index) for index in range(first, first + count)]
    if len(set(names)) < count:
        raise _unwritable(zone, "it has several links of one name")
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
    attributes = {"id": node["id"], "routing": routing}
    return Node("zone", attributes, node.file, node.line, children)


def _is_star(zone: FlatCluster, numbers: Numbers) -> bool:
    """Whether a zone with routing Cluster has the routes of a flat cluster."""
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
        attributes = {"bandwidth": repr(now.bandwidth), "latency": repr(now.latency)}
        yield make_node("backbone", {"id": name(index), **attributes})


def _routes(zone: ClusterZone, numbers: Numbers) -> Iterator[Node]:
    if zone.size**2 > _MOST_ROUTES:
        raise _unwritable(zone, f"it would be {zone.size**2} routes")
    name = numbers.topology.links.name
    for src in range(zone.size):
        for dst in range(zone.size):
            links = zone.local_route(src, dst).links
            if links:
                ends = zone.label(src), zone.label(dst)
                yield route_node("route", *ends, [name(link) for link in links], symmetrical=False)
            elif src < zone.hosts:
                raise _unwritable(zone, "messages inside a host take no link (no loopback_bw)")


def _unwritable(zone: ClusterZone, why: str) -> InputError:
    return InputError(
        f"the platform file format cannot say this platform: links or hosts of the cluster "
        f"{zone.name} differ, and written one by one, {why}; change all of them alike, or keep the "
        "platform in Python, where it can be pickled"
    )
