"""Builds a platform element by element: one grammar for files and Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial

from tisim.platform.description.clusters import add_cabinet, add_cluster, add_peer, connect_star
from tisim.platform.description.construction import Construction, EventReader
from tisim.platform.description.node import Node, read_burst
from tisim.platform.description.routes import add_bypass, add_route
from tisim.platform.description.storage import (
    add_disks,
    add_file_systems,
    described_disk,
    refuse_file_system,
)
from tisim.platform.description.xml import read_fragment
from tisim.platform.zones.base import Zone
from tisim.platform.zones.star import StarZone, VivaldiZone
from tisim.platform.zones.table import DijkstraZone, FloydZone, FullZone, TableZone

_ROUTINGS: Mapping[str, type[Zone]] = {
    "full": FullZone,
    "floyd": FloydZone,
    "dijkstra": DijkstraZone,
    "dijkstracache": DijkstraZone,
    "cluster": StarZone,
    "star": StarZone,
    "vivaldi": VivaldiZone,
    "none": Zone,
}
_MAX_INCLUDES = 32


class Elements:
    """Processes the elements of a description in order.

    `open_zone` opens a zone and `close_zone` closes it; `add` takes any other element, and complete
    zones with their contents. `finish` checks the result. `version`: of the file format. `file`:
    the outermost file, which must not include itself. `construction`: the description so far.
    `events`: changes of resources over time. `root`: the elements taken, as written by
    `tisim.platform.description.writer`.
    """

    def __init__(self, version: float = 4.1, file: str | None = None) -> None:
        self.construction = Construction()
        self.events = EventReader(self.construction, version)
        self.root = Node("platform", {"version": "4.1"})
        self._open_nodes = [self.root]
        self._zones: list[Node] = []
        self._includes = [] if file is None else [os.path.realpath(file)]
        self._star_parts: dict[int, list[Node]] = {}
        self._actions: dict[str, Callable[[Node], None]] = {
            "config": self._config,
            "cluster": self._cluster,
            "host": self._host,
            "router": self._router,
            "link": self._link,
            "peer": partial(add_peer, self.construction, self.events),
            "cabinet": self._cabinet,
            "host_link": self._star_part,
            "backbone": self._star_part,
            "route": self._route,
            "zoneRoute": self._route,
            "bypassRoute": self._bypass,
            "bypassZoneRoute": self._bypass,
            "trace": self.events.add_trace,
            "trace_connect": self.events.connections.append,
        }

    def add(self, node: Node) -> None:
        """Process an element; elements that do not describe the platform are ignored."""
        if node.tag == "zone":
            self.open_zone(node)
            for child in node.children:
                self.add(child)
            self.close_zone()
        elif node.tag == "include":
            self._include(node)
        elif node.tag in self._actions:
            self._actions[node.tag](node)
            self._open_nodes[-1].children.append(node)

    def open_zone(self, node: Node) -> None:
        """Open a zone; subsequent elements belong to it."""
        routing = _ROUTINGS.get(node["routing"].lower())
        if routing is None:
            known = "Full, Floyd, Dijkstra, DijkstraCache, Cluster, Vivaldi and None"
            raise node.error(f"unknown routing {node['routing']!r}; known are {known}")
        zone = routing(node["id"], self.construction.parent_for(node))
        self.construction.register_zone(zone, node)
        self.construction.enter(zone)
        properties = [child for child in node.children if child.tag == "prop"]
        opened = Node("zone", node.attributes, node.file, node.line, properties)
        self._open_nodes[-1].children.append(opened)
        self._open_nodes.append(opened)
        self._zones.append(opened)

    def close_zone(self) -> None:
        """Close the innermost zone."""
        zone = self.construction.leave()
        self._open_nodes.pop()
        if isinstance(zone, VivaldiZone):
            self._connect_vivaldi(zone)
        elif isinstance(zone, StarZone):
            connect_star(self.construction, zone, self._star_parts.pop(id(zone), []))

    def finish(self, node: Node, *, is_deployment: bool = False) -> None:
        """Check the description, whose outermost element is `node`, and connect its parts."""
        topology = self.construction.topology
        if topology.root is None:
            hint = "; it is a deployment" if is_deployment else ""
            raise node.error(
                "the file does not describe a platform: it has neither a <zone> nor a "
                "<cluster>" + hint
                if node.file is not None
                else "the platform has neither a zone nor a cluster"
            )
        if not len(topology.hosts):
            raise node.error("the platform has no host")
        self._check_names(node)
        self.events.connect_traces()
        for zone_node in self._zones:
            add_file_systems(topology, zone_node)
        for zone in topology.root.walk():
            if isinstance(zone, TableZone):
                zone.add_default_loopbacks(topology.default_loopback)

    def _config(self, node: Node) -> None:
        if self.construction.topology.root is not None:
            raise node.error("<config> must stand before the first zone")
        for child in node.children:
            self.construction.add_option(child)

    def _include(self, node: Node) -> None:
        path = self.construction.find_file(node, node["file"])
        real = os.path.realpath(path)
        if real in self._includes or len(self._includes) > _MAX_INCLUDES:
            raise node.error(f"{node['file']} includes itself")
        self._includes.append(real)
        for child in [*read_fragment(path, self.construction.warnings), *node.children]:
            self.add(child)
        self._includes.pop()

    def _cluster(self, node: Node) -> None:
        refuse_file_system(node)
        add_cluster(self.construction, self.events, node)

    def _cabinet(self, node: Node) -> None:
        add_cabinet(self.construction, node)
        self._star_part(node)

    def _star_part(self, node: Node) -> None:
        zone = self.construction.zone_of(node)
        if not isinstance(zone, StarZone) or isinstance(zone, VivaldiZone):
            raise node.error(f"<{node.tag}> must be in a zone with routing=Cluster")
        self._star_parts.setdefault(id(zone), []).append(node)

    def _route(self, node: Node) -> None:
        add_route(self.construction.topology, self.construction.zone_of(node), node)

    def _bypass(self, node: Node) -> None:
        add_bypass(self.construction.topology, self.construction.zone_of(node), node)

    def _connect_vivaldi(self, zone: VivaldiZone) -> None:
        """Find the gateway routers of the zones in a Vivaldi zone."""
        points, coordinates = self.construction.topology.points, self.construction.coordinates
        for child in zone.children:
            router = points.get(f"router_{child.name}")
            if router is not None and child.contains(router) and router in coordinates:
                zone.gateways[child.local] = router
                zone.coordinates[child.local] = coordinates[router]

    def _host(self, node: Node) -> None:
        refuse_file_system(node)
        zone = self.construction.leaf_zone_of(node)
        local = self.construction.place_new(node, node["id"], zone)
        index = self.construction.topology.hosts.add_listed(
            node["id"],
            (zone, local),
            node.number("speed"),
            int(node.number("core")),
            node.properties(),
        )
        self.construction.read_coordinates(node, zone, local)
        self.events.add_host_profiles(node, index, 1)
        disks = [child for child in node.children if child.tag == "disk"]
        described = described_disk(node)
        for disk in disks if described is None else [*disks, described]:
            add_disks(self.construction.topology.disks, disk, (index,))

    def _router(self, node: Node) -> None:
        zone = self.construction.leaf_zone_of(node)
        local = self.construction.place_new(node, node["id"], zone)
        zone.routers.add(local)
        self.construction.read_coordinates(node, zone, local)

    def _link(self, node: Node) -> None:
        self.construction.zone_of(node)
        name, policy = node["id"], node["sharing_policy"]
        if policy == "WIFI":
            raise node.error("WIFI links are not supported; use SHARED")
        bandwidth, latency = node.number("bandwidth"), node.number("latency")
        properties, burst = node.properties(), read_burst(node)
        links = self.construction.topology.links
        if links.is_listed(name):
            raise node.error(f"link {name!r} is declared twice")
        if policy == "SPLITDUPLEX":
            first = links.add_split(name, bandwidth, latency, properties, burst=burst)
            count = 2
        else:
            first = links.add_listed(
                name,
                bandwidth,
                latency,
                fatpipe=policy == "FATPIPE",
                burst=burst,
                properties=properties,
            )
            count = 1
        self.events.add_link_profiles(node, range(first, first + count))

    def _check_names(self, root: Node) -> None:
        """Check the names of clusters' hosts, which are in no table of names."""
        points, hosts = self.construction.topology.points, self.construction.topology.hosts
        name = hosts.duplicate()
        if name is None:
            clashes = (n for n in points if hosts.find(n) is not None)
            name = next((n for n in clashes if not self._is_listed_host(n)), None)
        if name is not None:
            raise root.error(f"the host {name!r} is declared twice, at least once by a cluster")

    def _is_listed_host(self, name: str) -> bool:
        topology = self.construction.topology
        index = topology.hosts.find(name)
        return index is not None and topology.hosts.point(index) == topology.points[name]
