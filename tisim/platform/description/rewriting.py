"""The elements of a platform with the numbers that it has now."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.platform.description.long_forms import long_cabinet, long_cluster
from tisim.platform.description.node import Node
from tisim.platform.description.numbers import Numbers
from tisim.platform.description.short_forms import (
    alike,
    short_cabinet,
    short_cluster,
    short_peer,
)
from tisim.platform.description.values import read_bandwidth, read_cores, read_speed
from tisim.platform.zones.cluster import ClusterZone
from tisim.support.quantities.parsing import parse_time

if TYPE_CHECKING:
    from tisim.platform.resources import Resources
    from tisim.platform.topology import Topology

_ROUTES = ("route", "zoneRoute", "bypassRoute", "bypassZoneRoute")
_OTHER_HALF = {"UP": "DOWN", "DOWN": "UP", "NONE": "NONE"}
_OTHER_END = {"src": "dst", "dst": "src", "gw_src": "gw_dst", "gw_dst": "gw_src"}
# The names and routes of these depend on those that stand before them in the file.
_COUNTED = ("FAT_TREE", "DRAGONFLY")


class Rewriter:
    """Gives elements the numbers that a platform has now; takes them in their order.

    A cluster, a cabinet or a SPLITDUPLEX link whose parts differ becomes the elements that it
    stands for.

    Parameters
    ----------
    topology, resources
        What the elements came to; the numbers may have changed since.
    """

    def __init__(self, topology: Topology, resources: Resources) -> None:
        self._numbers = Numbers(topology, resources)
        zones = [] if topology.root is None else topology.root.walk()
        self._clusters = {zone.name: zone for zone in zones if isinstance(zone, ClusterZone)}
        # SPLITDUPLEX links that are written as two links.
        self._halved: set[str] = set()
        # Topologies of which a cluster is written as a zone.
        self._expanded: set[str] = set()

    def rewritten(self, node: Node) -> Iterator[Node]:
        """What stands in the place of an element; profiles are left out.

        Raises
        ------
        InputError
            If no element can say the numbers.
        """
        if node.tag in _ROUTES:
            yield from self._routes(node)
            return
        match node.tag:
            case "trace" | "trace_connect":
                return
            case "zone":
                children = [new for child in node.children for new in self.rewritten(child)]
                yield dataclasses.replace(node, children=children)
            case "cluster":
                yield self._cluster(node)
            case "cabinet":
                yield from self._cabinet(node)
            case "peer":
                yield short_peer(node, self._numbers)
            case "host":
                yield self._host(node)
            case "link" | "backbone":
                yield from self._link(node)
            case _:
                yield node

    def _cluster(self, node: Node) -> Node:
        zone = self._clusters[node["id"]]
        topology = node["topology"]
        short = None
        if topology not in self._expanded:
            short = short_cluster(node, zone, self._numbers)
        if short is not None:
            return short
        if topology in _COUNTED:
            self._expanded.add(topology)
        self._note_halves(zone.first_link, len(zone.make_links()))
        return long_cluster(node, zone, self._numbers)

    def _cabinet(self, node: Node) -> Iterator[Node]:
        short = short_cabinet(node, self._numbers)
        if short is not None:
            yield short
            return
        for new in long_cabinet(node, self._numbers):
            if new.tag == "link":
                self._halved.add(new["id"].removesuffix("_UP"))
            yield new

    def _note_halves(self, first: int, count: int) -> None:
        for index in range(first, first + count):
            self._halved.add(self._numbers.topology.links.name(index).removesuffix("_UP"))

    def _host(self, node: Node) -> Node:
        now = self._numbers.host(self._numbers.host_index(node["id"]))
        changed = {}
        if now.speed != read_speed(node, "speed"):
            changed = {"speed": repr(now.speed), "pstate": "0", "availability": "1"}
        if now.cores != read_cores(node):
            changed["core"] = str(now.cores)
        return dataclasses.replace(node, attributes=node.attributes | changed)

    def _link(self, node: Node) -> Iterator[Node]:
        index = self._numbers.link_index(node["id"])
        is_split = node.tag == "link" and node["sharing_policy"] == "SPLITDUPLEX"
        if is_split and not alike(self._numbers.links(index, 2)):
            self._halved.add(node["id"])
            for half in (index, index + 1):
                yield self._numbers.link_node(half, node.properties())
            return
        now = self._numbers.link(index)
        changed = {}
        if now.bandwidth != read_bandwidth(node, "bandwidth", "bandwidth"):
            changed["bandwidth"] = repr(now.bandwidth)
        if now.latency != parse_time(node["latency"]):
            changed["latency"] = repr(now.latency)
        if node.tag == "link" and not is_split:
            changed["sharing_policy"] = "FATPIPE" if now.fatpipe else "SHARED"
        elif now.fatpipe:
            raise InputError(
                f"the platform file format cannot say this platform: the backbone {node['id']!r} "
                "of a zone is SHARED there; leave its sharing as it is"
            )
        yield dataclasses.replace(node, attributes=node.attributes | changed)

    def _routes(self, node: Node) -> Iterator[Node]:
        """A route, in both directions where halves of links are links of their own now."""
        hops = [(child["id"], child["direction"]) for child in node.children]
        if not any(name in self._halved for name, direction in hops if direction != "NONE"):
            yield node
            return
        one_way = {"symmetrical": "NO"} if "symmetrical" in node.attributes else {}
        there = dataclasses.replace(node, attributes=node.attributes | one_way)
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
