"""A platform under construction: its tables and names, open zones, profiles and warnings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.platform.description.node import OPTION, Node
from tisim.platform.profiles import (
    BANDWIDTH,
    KINDS,
    LATENCY,
    SPEED,
    STATE,
    Profile,
    ResourceProfile,
    parse_profile,
    read_profile,
)
from tisim.platform.topology import Topology, did_you_mean
from tisim.platform.zones.base import Zone
from tisim.platform.zones.star import StarZone, VivaldiZone

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tisim.platform.zones.base import Point


@dataclass(frozen=True, slots=True)
class ConfigItem:
    """One option as written, with its place."""

    key: str
    value: str
    file: str | None
    line: int | None
    in_zone: bool = False  # a property of the outermost zone, not from a ``<config>``


class Construction:
    """The description so far and the open zones.

    Attributes
    ----------
    topology
        Hosts, links and zones.
    config
        The options of ``<config>``, the first of each name.
    options
        Options that are properties of the outermost zone, the first of each name.
    warnings
        Warnings for the user, each with its file and line.
    counters
        Total hosts and cables of the clusters of each topology.
    coordinates
        Coordinates of hosts, peers and routers, where given.
    """

    def __init__(self) -> None:
        self.topology = Topology()
        self.config: dict[str, ConfigItem] = {}
        self.options: dict[str, ConfigItem] = {}
        self.warnings: list[str] = []
        self.counters: dict[str, tuple[int, int]] = {}
        self.coordinates: dict[Point, tuple[float, float, float]] = {}
        self._zones: list[Zone] = []

    @property
    def depth(self) -> int:
        """Number of open zones."""
        return len(self._zones)

    def enter(self, zone: Zone) -> None:
        """Open a zone: subsequent elements belong to it."""
        self._zones.append(zone)

    def leave(self) -> Zone:
        """Close the innermost zone and return it."""
        return self._zones.pop()

    def add_option(self, node: Node) -> None:
        """Record an option of a ``<config>``; the first of a name counts."""
        item = ConfigItem(node["id"], node["value"], node.file, node.line)
        self.config.setdefault(item.key, item)

    def zone_of(self, node: Node) -> Zone:
        """Return the innermost open zone, which contains the element."""
        if not self._zones:
            raise node.error(f"<{node.tag}> must be in a <zone>")
        return self._zones[-1]

    def leaf_zone_of(self, node: Node) -> Zone:
        """Return the zone that contains the element; it must not contain zones."""
        zone = self.zone_of(node)
        if zone.children:
            raise node.error(
                f"zone {zone.name} already contains zones; put this {node.tag} into a separate zone"
            )
        return zone

    def warn(self, node: Node, message: str) -> None:
        """Record a warning with its file and line."""
        self.warnings.append(node.warning(message))

    def check_new(self, node: Node, name: str) -> None:
        """Raise an error if a host, router or zone already has the name."""
        if name in self.topology.points:
            raise node.error(
                f"{name!r} is declared twice: another host, router or zone has this name"
            )

    def parent_for(self, node: Node) -> Zone | None:
        """Return the parent of a new zone, after checking it."""
        parent = self._zones[-1] if self._zones else None
        if parent is None and self.topology.root is not None:
            raise node.error(
                f"the platform has two outermost zones, {self.topology.root.name} and "
                f"{node['id']}; enclose them in one <zone>"
            )
        if parent is not None:
            if parent.size > len(parent.children):
                raise node.error(
                    f"zone {parent.name} already contains hosts or routers; put them into a "
                    "separate zone"
                )
            if isinstance(parent, StarZone) and not isinstance(parent, VivaldiZone):
                raise node.error(
                    f"zone {parent.name} (routing={parent.kind}) cannot contain zones; use "
                    "routing=Full, Floyd or Dijkstra"
                )
        self.check_new(node, node["id"])
        return parent

    def register_zone(self, zone: Zone, node: Node) -> None:
        """Register a new zone by its name, with the properties of its element."""
        zone.properties.update(node.properties())
        if zone.parent is None:
            self.topology.root = zone
        else:
            self.topology.points[zone.name] = zone.point
        for prop in node.children:
            if prop.tag == "prop" and prop["id"].startswith(OPTION):
                if zone.parent is not None:
                    raise prop.error(f"{prop['id']} must be a property of the outermost zone")
                key = prop["id"].removeprefix(OPTION)
                item = ConfigItem(key, prop["value"], prop.file, prop.line, in_zone=True)
                self.options.setdefault(key, item)

    def place_new(self, node: Node, name: str, zone: Zone) -> int:
        """Number a new host or router in its zone and register it by name."""
        self.check_new(node, name)
        local = zone.add_vertex(name)
        self.topology.points[name] = (zone, local)
        return local

    def find_file(self, node: Node, name: str) -> str:
        """Find a file named by an element: next to the description, or in the current directory."""
        option = self.config.get("path")
        folders = [Path.cwd()] if node.file is None else [Path(node.file).parent, Path.cwd()]
        folders += [Path(folder) for folder in (option.value.split(",") if option else ())]
        for folder in folders:
            path = folder / name
            if path.is_file():
                return str(path)
        raise node.error(f"no file {name!r} in the directory of this one")

    def read_coordinates(self, node: Node, zone: Zone, local: int) -> None:
        """Store the Vivaldi coordinates of a host, peer or router."""
        given = node.attributes["coordinates"]
        if not given:
            return
        try:
            x, y, z = map(float, given if isinstance(given, tuple) else str(given).split())
            if not all(map(math.isfinite, (x, y, z))):
                raise ValueError
            if isinstance(given, tuple) and given != (x, y, z):  # given as text
                raise ValueError
        except (TypeError, ValueError):
            raise node.error(
                "coordinates must be three numbers, such as '1.5 -2 0.1', not "
                f"{node['coordinates']!r}"
            ) from None
        self.coordinates[zone, local] = (x, y, z)
        if isinstance(zone, VivaldiZone):
            zone.coordinates[local] = (x, y, z)


_OFF = Profile((0.0,), (0.0,))
_HOST_FILES = (("speed_file", SPEED), ("state_file", STATE))
_LINK_FILES = (
    ("bandwidth_file", BANDWIDTH),
    ("latency_file", LATENCY),
    ("state_file", STATE),
)


class EventReader:
    """Collects the profiles of a platform's resources.

    `profiles`: the profiles attached so far. `connections`: the ``<trace_connect>`` elements, to be
    resolved when all names are known.
    """

    def __init__(self, construction: Construction, version: float) -> None:
        self.profiles: list[ResourceProfile] = []
        self.connections: list[Node] = []
        self._construction = construction
        self._version = version
        self._traces: dict[str, Profile] = {}

    def add_trace(self, node: Node) -> None:
        """Read a ``<trace>`` from its text or from the file that it names."""
        profile = node.profile
        if node["file"]:
            profile = read_profile(self._construction.find_file(node, node["file"]))
        elif profile is None:
            profile = parse_profile(
                node.text,
                node.number("periodicity"),
                loop_after=self._version < 4,
                file=node.file,
                line=node.line or 1,
            )
        if self._traces.setdefault(node["id"], profile) is not profile:
            self._construction.warn(
                node, f"trace {node['id']!r} is declared twice; the first declaration is used"
            )

    def add_host_profiles(self, node: Node, first: int, count: int) -> None:
        """Attach the profile files of a host, peer or cluster and the state of a version 3 host."""
        indices = range(first, first + count)
        for attribute, what in _HOST_FILES:
            self._attach_file(node, attribute, False, indices, what)
        if node.attributes.get("state") == "OFF":
            self._attach(_OFF, False, indices, STATE)

    def add_link_profiles(self, node: Node, indices: range) -> None:
        """Attach the profile files of a link to both halves, and the state of a version 3 link."""
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
                raise node.error(f"no trace {node['trace']!r}{hint}")
            is_link, what = KINDS[node["kind"]]
            indices = self._links_of(node) if is_link else [self._host_of(node)]
            self._attach(profile, is_link, indices, what)

    def _host_of(self, node: Node) -> int:
        topology = self._construction.topology
        host = topology.hosts.find(node["element"])
        if host is None:
            hint = did_you_mean(node["element"], topology.host_names())
            raise node.error(f"no host {node['element']!r}{hint}")
        return host

    def _links_of(self, node: Node) -> list[int]:
        links = self._construction.topology.links
        link = links.find(node["element"])
        if link is not None:
            return [link]
        up = links.find_split(node["element"])
        if up is None:
            hint = did_you_mean(node["element"], links.listed_names())
            raise node.error(f"no link {node['element']!r}{hint}")
        return [up, up + 1]
