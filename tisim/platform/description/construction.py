"""A platform that is being built: its tables and names, the open zones, the warnings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.platform.description.node import Node
from tisim.platform.topology import Topology
from tisim.platform.zones.base import Zone
from tisim.platform.zones.star import StarZone, VivaldiZone

if TYPE_CHECKING:
    from tisim.platform.zones.base import Point


@dataclass(frozen=True, slots=True)
class ConfigItem:
    """One option of a ``<config>``, as written, and where."""

    key: str
    value: str
    file: str | None
    line: int | None


class Construction:
    """What has been described so far, and where in the tree of zones the description is.

    Attributes
    ----------
    topology
        Hosts, links and zones.
    config
        The options of ``<config>``, the first of each name.
    warnings
        Warnings for the user, each with its place.
    counters
        Hosts and cables of the clusters of a topology, over all of them.
    coordinates
        Of hosts, peers and routers, where they are given.
    """

    def __init__(self) -> None:
        self.topology = Topology()
        self.config: dict[str, ConfigItem] = {}
        self.warnings: list[str] = []
        self.counters: dict[str, tuple[int, int]] = {}
        self.coordinates: dict[Point, tuple[float, float, float]] = {}
        self._zones: list[Zone] = []

    @property
    def depth(self) -> int:
        """How many zones are open."""
        return len(self._zones)

    def enter(self, zone: Zone) -> None:
        """Describe what is in a zone from now on."""
        self._zones.append(zone)

    def leave(self) -> Zone:
        """Return to the zone around the innermost one, which is returned."""
        return self._zones.pop()

    def add_option(self, node: Node) -> None:
        """Keep an option of a ``<config>``; the first of a name counts."""
        item = ConfigItem(node["id"], node["value"], node.file, node.line)
        self.config.setdefault(item.key, item)

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
        self.warnings.append(node.warning(message))

    def check_new(self, node: Node, name: str) -> None:
        """Refuse a name that a host, router or zone has already."""
        if name in self.topology.points:
            raise node.error(f"{name!r} is declared twice: a host, router or zone has this name")

    def parent_for(self, node: Node) -> Zone | None:
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

    def find_file(self, node: Node, name: str) -> str:
        """A file that an element names: beside the file that names it, or where the user is."""
        option = self.config.get("path")
        folders = [Path.cwd()] if node.file is None else [Path(node.file).parent, Path.cwd()]
        folders += [Path(folder) for folder in (option.value.split(",") if option else ())]
        for folder in folders:
            path = folder / name
            if path.is_file():
                return str(path)
        raise node.error(f"there is no file {name!r} beside this one")

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
