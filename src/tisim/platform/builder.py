"""Builds the topology that a platform file describes, element by element."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.platform.clusters import add_cabinet, add_cluster, add_peer, connect_star
from tisim.platform.events import EventReader
from tisim.platform.routes import add_bypass, add_route
from tisim.platform.topology import Topology
from tisim.platform.values import read_bandwidth, read_cores, read_speed
from tisim.platform.xml import Document, Node, read_document, read_fragment
from tisim.platform.zones.base import Zone
from tisim.platform.zones.star import StarZone, VivaldiZone
from tisim.platform.zones.table import DijkstraZone, FloydZone, FullZone, TableZone
from tisim.quantities import parse_time

if TYPE_CHECKING:
    from tisim.platform.zones.base import Point

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


@dataclass(frozen=True, slots=True)
class ConfigItem:
    """One option of a ``<config>``, as written, and where."""

    key: str
    value: str
    file: str
    line: int


class Builder:
    """Reads elements into a topology.

    Attributes
    ----------
    topology
        What has been built so far.
    config
        The options of ``<config>``, the first of each name.
    events
        Changes of resources over time.
    warnings
        What is worth telling the user, each with its place.
    version
        Of the file format.
    """

    def __init__(self) -> None:
        self.topology = Topology()
        self.config: dict[str, ConfigItem] = {}
        self.events = EventReader(self)
        self.warnings: list[str] = []
        self.version = 4.1
        self.counters: dict[str, tuple[int, int]] = {}
        self._zones: list[Zone] = []
        self.coordinates: dict[Point, tuple[float, float, float]] = {}
        self._includes: list[str] = []
        self._star_parts: dict[int, list[Node]] = {}
        self._actions: dict[str, Callable[[Node], None]] = {
            "config": self._config,
            "include": self._include,
            "zone": self._zone,
            "cluster": self._cluster,
            "host": self._host,
            "router": self._router,
            "link": self._link,
            "peer": self._peer,
            "cabinet": self._cabinet,
            "host_link": self._star_part,
            "backbone": self._star_part,
            "route": self._route,
            "zoneRoute": self._route,
            "bypassRoute": self._bypass,
            "bypassZoneRoute": self._bypass,
            "trace": self._trace,
            "trace_connect": self._trace_connect,
        }

    def build(self, path: str | os.PathLike[str]) -> Document:
        """Read a platform file; what it describes is then in the attributes."""
        document = read_document(path)
        self.version = document.version
        self.warnings += document.warnings
        self._includes.append(os.path.realpath(path))
        self._children(document.root)
        if self.topology.root is None:
            is_deployment = any(child.tag == "actor" for child in document.root.children)
            hint = "; it is a deployment" if is_deployment else ""
            raise document.root.error(
                f"the file describes no platform: it has neither a <zone> nor a <cluster>{hint}"
            )
        if not len(self.topology.hosts):
            raise document.root.error("the platform has no host")
        self._check_names(document.root)
        self.events.connect_traces()
        for zone in self.topology.root.walk():
            if isinstance(zone, TableZone):
                zone.seal(self.topology.default_loopback)
        return document

    def _children(self, node: Node) -> None:
        for child in node.children:
            action = self._actions.get(child.tag)
            if action is not None:
                action(child)

    def zone_of(self, node: Node) -> Zone:
        """The zone that an element stands in."""
        if not self._zones:
            raise node.error(f"<{node.tag}> must be in a <zone>")
        return self._zones[-1]

    def leaf_zone_of(self, node: Node) -> Zone:
        """The zone that an element stands in, which must be one without zones in it."""
        zone = self.zone_of(node)
        if zone.children:
            raise node.error(
                f"zone {zone.name} holds zones already; put this {node.tag} in a zone of its own"
            )
        return zone

    def warn(self, node: Node, message: str) -> None:
        """Keep a warning with its place."""
        self.warnings.append(f"{node.file}:{node.line}: {message}")

    def check_new(self, node: Node, name: str) -> None:
        """Refuse a name that a host, router or zone has already."""
        if name in self.topology.points:
            raise node.error(f"{name!r} is declared twice: a host, router or zone has this name")

    def open_zone(self, node: Node) -> Zone | None:
        """The parent for a new zone, checked."""
        parent = self._zones[-1] if self._zones else None
        if parent is None and self.topology.root is not None:
            raise node.error(
                f"the platform has two outermost zones, {self.topology.root.name} and "
                f"{node['id']}; put one <zone> around them"
            )
        if parent is not None:
            if parent.size > len(parent.children):
                raise node.error(
                    f"zone {parent.name} holds hosts or routers already; put them in a zone of "
                    "their own"
                )
            if isinstance(parent, StarZone) and not isinstance(parent, VivaldiZone):
                raise node.error(
                    f"zone {parent.name} (routing={parent.kind}) cannot hold zones; use "
                    "routing=Full, Floyd or Dijkstra"
                )
        self.check_new(node, node["id"])
        return parent

    def register_zone(self, zone: Zone) -> None:
        """Make a new zone known by its name."""
        if zone.parent is None:
            self.topology.root = zone
        else:
            self.topology.points[zone.name] = zone.point

    def place_new(self, node: Node, name: str, zone: Zone) -> int:
        """Number a new host or router in its zone and make it known by its name."""
        self.check_new(node, name)
        local = zone.add_vertex(name)
        self.topology.points[name] = (zone, local)
        return local

    def _config(self, node: Node) -> None:
        if self.topology.root is not None:
            raise node.error("<config> must stand before the first zone")
        for child in node.children:
            item = ConfigItem(child["id"], child["value"], child.file, child.line)
            self.config.setdefault(item.key, item)

    def _include(self, node: Node) -> None:
        path = self.find_file(node, node["file"])
        real = os.path.realpath(path)
        if real in self._includes or len(self._includes) > _MAX_INCLUDES:
            raise node.error(f"{node['file']} includes itself")
        self._includes.append(real)
        for child in [*read_fragment(path, self.warnings), *node.children]:
            action = self._actions.get(child.tag)
            if action is not None:
                action(child)
        self._includes.pop()

    def find_file(self, node: Node, name: str) -> str:
        """A file that an element names: beside the file that names it, or where the user is."""
        option = self.config.get("path")
        folders = [Path(node.file).parent, Path.cwd()]
        folders += [Path(folder) for folder in (option.value.split(",") if option else ())]
        for folder in folders:
            path = folder / name
            if path.is_file():
                return str(path)
        raise node.error(f"there is no file {name!r} beside this one")

    def _zone(self, node: Node) -> None:
        routing = _ROUTINGS.get(node["routing"].lower())
        if routing is None:
            known = "Full, Floyd, Dijkstra, DijkstraCache, Cluster, Vivaldi and None"
            raise node.error(f"unknown routing {node['routing']!r}; {known} are understood")
        zone = routing(node["id"], self.open_zone(node))
        zone.properties.update(node.properties())
        self.register_zone(zone)
        self._zones.append(zone)
        self._children(node)
        if isinstance(zone, VivaldiZone):
            self._connect_vivaldi(zone)
        elif isinstance(zone, StarZone):
            connect_star(self, zone, self._star_parts.pop(id(zone), []))
        self._zones.pop()

    def _connect_vivaldi(self, zone: VivaldiZone) -> None:
        """Find the routers through which the zones of a Vivaldi zone are reached."""
        for child in zone.children:
            router = self.topology.points.get(f"router_{child.name}")
            if router is not None and child.contains(router) and router in self.coordinates:
                zone.gateways[child.local] = router
                zone.coordinates[child.local] = self.coordinates[router]

    def _cluster(self, node: Node) -> None:
        add_cluster(self, node)

    def _peer(self, node: Node) -> None:
        add_peer(self, node)

    def _cabinet(self, node: Node) -> None:
        add_cabinet(self, node)
        self._star_part(node)

    def _star_part(self, node: Node) -> None:
        zone = self.zone_of(node)
        if not isinstance(zone, StarZone) or isinstance(zone, VivaldiZone):
            raise node.error(f"<{node.tag}> must be in a zone with routing=Cluster")
        self._star_parts.setdefault(id(zone), []).append(node)

    def _route(self, node: Node) -> None:
        add_route(self.topology, self.zone_of(node), node)

    def _bypass(self, node: Node) -> None:
        add_bypass(self.topology, self.zone_of(node), node)

    def _host(self, node: Node) -> None:
        zone = self.leaf_zone_of(node)
        local = self.place_new(node, node["id"], zone)
        speed = read_speed(node, f"speed of host {node['id']}")
        index = self.topology.hosts.add_listed(
            node["id"], (zone, local), speed, read_cores(node), node.properties()
        )
        self.read_coordinates(node, zone, local)
        self.events.add_host_profiles(node, index, 1)

    def _router(self, node: Node) -> None:
        zone = self.leaf_zone_of(node)
        local = self.place_new(node, node["id"], zone)
        zone.routers.add(local)
        self.read_coordinates(node, zone, local)

    def read_coordinates(self, node: Node, zone: Zone, local: int) -> None:
        """Keep the Vivaldi coordinates of a host, peer or router."""
        if not node["coordinates"]:
            return
        try:
            x, y, z = (float(word) for word in node["coordinates"].split())
        except ValueError:
            raise node.error(
                f"coordinates are three numbers, such as '1.5 -2 0.1', not {node['coordinates']!r}"
            ) from None
        self.coordinates[zone, local] = (x, y, z)
        if isinstance(zone, VivaldiZone):
            zone.coordinates[local] = (x, y, z)

    def _link(self, node: Node) -> None:
        self.zone_of(node)
        name, policy = node["id"], node["sharing_policy"]
        if policy == "WIFI":
            raise node.error("WIFI links are not supported; use SHARED")
        bandwidth = read_bandwidth(node, "bandwidth", f"bandwidth of link {name}")
        latency = parse_time(
            node["latency"], f"latency of link {name}", file=node.file, line=node.line
        )
        properties = node.properties()
        links = self.topology.links
        if links.is_listed(name):
            raise node.error(f"link {name!r} is declared twice")
        if policy == "SPLITDUPLEX":
            first, count = links.add_split(name, bandwidth, latency, properties), 2
        else:
            fatpipe = policy == "FATPIPE"
            first, count = (
                links.add_listed(name, bandwidth, latency, fatpipe=fatpipe, properties=properties),
                1,
            )
        self.events.add_link_profiles(node, range(first, first + count))

    def _trace(self, node: Node) -> None:
        self.events.add_trace(node)

    def _trace_connect(self, node: Node) -> None:
        self.events.connections.append(node)

    def _check_names(self, root: Node) -> None:
        """Names of clusters' hosts, which no table of names holds."""
        name = self.topology.hosts.duplicate()
        if name is None:
            clashes = (n for n in self.topology.points if self.topology.hosts.find(n) is not None)
            name = next((n for n in clashes if not self._is_listed_host(n)), None)
        if name is not None:
            raise root.error(f"the host {name!r} is declared twice, at least once by a cluster")

    def _is_listed_host(self, name: str) -> bool:
        index = self.topology.hosts.find(name)
        return index is not None and self.topology.hosts.point(index) == self.topology.points[name]
