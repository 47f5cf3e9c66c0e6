"""A platform: its hosts, its links, and the route between any two hosts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeVar, overload

from tisim.errors import InputError
from tisim.platform.columns import Resources
from tisim.platform.description.construction import ConfigItem
from tisim.platform.description.elements import Elements
from tisim.platform.description.xml import read_document
from tisim.platform.disks import Disk, FileSystem
from tisim.platform.hosts import Host
from tisim.platform.links import Link
from tisim.platform.profiles import ResourceProfile
from tisim.platform.router import Router
from tisim.platform.topology import Topology, did_you_mean
from tisim.platform.zones.base import Zone
from tisim.support.files import write_file
from tisim.support.tables import html_facts

if TYPE_CHECKING:
    from tisim.platform.compiled import CompiledPlatform
    from tisim.platform.description.node import Node
    from tisim.platform.scaling import Change
    from tisim.platform.zones.base import Term

_T = TypeVar("_T")


class LazySequence(Sequence[_T], Generic[_T]):
    """Hosts or links of a platform, created on access: a large platform has millions.

    `count`: number of elements. `make`: returns the element at an index.
    """

    def __init__(self, count: int, make: Callable[[int], _T]) -> None:
        self._count = count
        self._make = make

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> _T: ...
    @overload
    def __getitem__(self, index: slice) -> list[_T]: ...
    def __getitem__(self, index: int | slice) -> _T | list[_T]:
        if isinstance(index, slice):
            return [self._make(i) for i in range(self._count)[index]]
        return self._make(range(self._count)[index])

    def __iter__(self) -> Iterator[_T]:
        return map(self._make, range(self._count))


@dataclass(frozen=True, slots=True)
class Route:
    """The route of a message from one host to another.

    Attributes
    ----------
    links
        The links in the order in which a message crosses them.
    latency
        In seconds: the sum over the links, plus distances where coordinates give the latency.
    """

    links: tuple[Link, ...]
    latency: float


class Platform:
    """Hosts, links and routes, as described by a SimGrid platform file.

    A platform is immutable and serves any number of simulations, from any number of threads. Make
    one with `Platform.load`.

    Attributes
    ----------
    file
        The file that it was read from.
    hosts, links
        Sequences of `Host` and `Link`, in the order of the file.
    config
        The options of the file, names and values as written.
    config_items
        The same with file and line of each: those of ``<config>``, then those that are properties
        ``tisim/config/NAME`` of the outermost zone, which take precedence.
    profiles
        Changes of speeds, bandwidths, latencies and states over time.
    warnings
        Warnings of the reader, each with file and line.
    changes
        The changes made by `scaled`, in words by name, such as ``{"bandwidth": "x10"}``.
    root
        The outermost zone.
    """

    def __init__(
        self,
        topology: Topology,
        resources: Resources,
        *,
        file: str,
        config_items: tuple[ConfigItem, ...] = (),
        profiles: tuple[ResourceProfile, ...] = (),
        warnings: tuple[str, ...] = (),
        description: Node | None = None,
        router: Router | None = None,
        changes: Mapping[str, str] | None = None,
    ) -> None:
        if topology.root is None:
            raise ValueError("a platform needs a zone")
        self._topology = topology
        self._resources = resources
        self.file = file
        self.root: Zone = topology.root
        self.config_items = config_items
        self.config: Mapping[str, str] = MappingProxyType(
            {item.key: item.value for item in config_items}
        )
        self.profiles = profiles
        self.warnings = warnings
        self.changes: Mapping[str, str] = changes or {}
        self._description = description
        # Contains the core's zones, which all replays share whatever the numbers.
        self._router = Router(topology, file) if router is None else router

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Platform:
        """Read a platform file (XML, versions 3 to 4.1 of SimGrid's format).

        Parameters
        ----------
        path
            The file. Files that it includes or reads profiles from are found relative to it.

        Raises
        ------
        InputError
            If the file cannot be read or is not a valid platform; with file and line.
        """
        document = read_document(path)
        elements = Elements(document.version, os.fspath(path))
        elements.construction.warnings += document.warnings
        for node in document.root.children:
            elements.add(node)
        actors = any(child.tag == "actor" for child in document.root.children)
        elements.finish(document.root, is_deployment=actors)
        return cls.of_elements(elements, os.fspath(path))

    @classmethod
    def of_elements(cls, elements: Elements, file: str) -> Platform:
        """Return the platform described by finished elements; `file` names it in messages."""
        construction = elements.construction
        return cls(
            construction.topology,
            construction.topology.declared_numbers(),
            file=file,
            config_items=(*construction.config.values(), *construction.options.values()),
            profiles=tuple(elements.events.profiles),
            warnings=tuple(construction.warnings),
            description=elements.root,
        )

    def __reduce__(self) -> tuple[object, ...]:
        # Another process recomputes the derived data.
        made = partial(
            Platform,
            file=self.file,
            config_items=self.config_items,
            profiles=self.profiles,
            warnings=self.warnings,
            description=self._description,
        )
        return made, (self._topology, self._resources)

    def __repr__(self) -> str:
        return f"<Platform {self.file}: {len(self.hosts)} hosts, {len(self.links)} links>"

    def _repr_html_(self) -> str:
        sizes = (("hosts", f"{len(self.hosts):,}"), ("links", f"{len(self.links):,}"))
        return html_facts(f"Platform {self.file}", sizes)

    @cached_property
    def hosts(self) -> LazySequence[Host]:
        """All hosts."""
        return LazySequence(len(self._topology.hosts), self._make_host)

    @cached_property
    def links(self) -> LazySequence[Link]:
        """All links; a SPLITDUPLEX link is two. The last may be the network model's loopback."""
        return LazySequence(len(self._topology.links), self._make_link)

    @property
    def resources(self) -> Resources:
        """The numbers of hosts and links as arrays."""
        return self._resources

    @property
    def topology(self) -> Topology:
        """Names, zones and the tables of hosts and links."""
        return self._topology

    def _make_host(self, index: int) -> Host:
        table = self._topology.hosts
        return Host(
            table.name(index),
            self._resources.floats("host_speed")[index],
            self._resources.integers("host_cores")[index],
            table.point(index)[0].name,
            MappingProxyType(dict(table.properties(index))),
            index,
        )

    def _make_link(self, index: int) -> Link:
        table, numbers = self._topology.links, self._resources
        return Link(
            table.name(index),
            numbers.floats("link_bandwidth")[index],
            numbers.floats("link_latency")[index],
            bool(numbers.integers("link_fatpipe")[index]),
            MappingProxyType(dict(table.properties(index))),
            index,
        )

    @property
    def disks(self) -> Sequence[Disk]:
        """All disks, host by host."""
        return tuple(self._topology.disks.disks)

    @property
    def file_systems(self) -> Sequence[FileSystem]:
        """All file systems on servers."""
        return tuple(self._topology.file_systems.systems)

    def disk_of(self, host: int, file: str) -> int:
        """Return the disk or file system of a file on a host; see `Topology.find_storage`."""
        return self._topology.find_storage(host, file)

    def host_names(self) -> Iterable[str]:
        """Yield the names of all hosts, in order."""
        return self._topology.host_names()

    def host_properties(self) -> Iterator[tuple[int, int, Mapping[str, str]]]:
        """Yield runs of hosts that share their properties: first index, count, properties."""
        return self._topology.hosts.property_runs()

    def host_index(self, host: str | Host) -> int:
        """Return the index of a host, given by name or as `Host`.

        Raises
        ------
        InputError
            If the platform has no such host; the message names similar ones.
        """
        name = host if isinstance(host, str) else host.name
        index = self._topology.hosts.find(name)
        if index is None:
            hint = did_you_mean(name, self._topology.host_names())
            if not hint:
                hint = f"; its {len(self.hosts)} hosts begin with {self.hosts[0].name!r}"
            raise InputError(f"the platform {self.file} has no host {name!r}{hint}")
        return index

    def host(self, name: str) -> Host:
        """Return a host by name; raises the errors of `host_index`."""
        return self._make_host(self.host_index(name))

    def link(self, name: str) -> Link:
        """Return a link by name; halves of a SPLITDUPLEX link end in ``_UP`` and ``_DOWN``."""
        index = self._topology.links.find(name)
        if index is None:
            hint = did_you_mean(name, self._topology.links.listed_names())
            raise InputError(f"the platform {self.file} has no link {name!r}{hint}")
        return self._make_link(index)

    def route(self, src: str | Host, dst: str | Host) -> Route:
        """Return the route between two hosts, given by name or as `Host`.

        Raises
        ------
        InputError
            If there is no such host, or no route between them.
        """
        links, latency = self.route_links(self.host_index(src), self.host_index(dst))
        return Route(tuple(map(self._make_link, links)), latency)

    def find_links(self, src: int, dst: int) -> tuple[list[int], list[Term]]:
        """Return the links between two hosts, all by index, and the terms of the latency.

        Raises
        ------
        InputError
            If there is no route between them.
        """
        return self._router.find_links(src, dst)

    def route_links(self, src: int, dst: int) -> tuple[list[int], float]:
        """Return the links between two hosts, all by index, and the latency in seconds.

        Raises the errors of `find_links`.
        """
        return self._router.route(src, dst, self._resources.floats("link_latency"))

    def scaled(
        self,
        *,
        links: str | Sequence[str] = "*",
        bandwidth: str | None = None,
        latency: str | None = None,
        sharing: str | None = None,
        hosts: str | Sequence[str] = "*",
        speed: str | None = None,
        cores: int | None = None,
    ) -> Platform:
        """Return a platform with other numbers; this one does not change.

        Parameters
        ----------
        links
            Pattern of the links to change (``*``, ``?``, ``[...]``), or several; a SPLITDUPLEX
            link matches with or without ``_UP`` and ``_DOWN``.
        bandwidth, latency
            A factor, ``"x2"`` (also written ``"2x"`` or ``"200%"``), or a value with its unit,
            such as ``"10Gbps"``. A factor also scales profiles; a value replaces them.
        sharing
            SHARED or FATPIPE.
        hosts
            Pattern of the hosts to change, or several.
        speed
            Speed of a core; as for links.
        cores
            Number of cores.

        Raises
        ------
        InputError
            If a pattern matches nothing, or a value is invalid.
        """
        asked = {
            "bandwidth": (links, bandwidth),
            "latency": (links, latency),
            "sharing": (links, sharing),
            "speed": (hosts, speed),
            "cores": (hosts, cores),
        }
        platform = self
        for quantity, (patterns, value) in asked.items():
            if value is not None:
                from tisim.platform.scaling import Change

                platform = platform.changed(Change(quantity, patterns, value))
        return platform

    def changed(self, change: Change) -> Platform:
        """Return the platform after one change; see `scaled`."""
        from tisim.platform.scaling import SCALED, apply, change_value

        value = change.value
        if change.quantity in SCALED:
            value = change_value(value, change.quantity)
        numbers, events = apply(self._topology, self._resources, self.profiles, change)
        platform = self.with_numbers(numbers, events)
        # A second change of the same links applies on top of the first.
        words = f"{self.changes.get(change.name, '')} {value}".lstrip()
        platform.changes = {**self.changes, change.name: words}
        return platform

    def with_numbers(self, resources: Resources, profiles: tuple[ResourceProfile, ...]) -> Platform:
        """Return the same hosts, links and routes with other numbers and profiles."""
        return Platform(
            self._topology,
            resources,
            file=self.file,
            config_items=self.config_items,
            profiles=profiles,
            warnings=self.warnings,
            description=self._description,
            router=self._router,
            changes=self.changes,
        )

    def to_xml(self) -> str:
        """Return the platform as a platform file in SimGrid's format, version 4.1.

        Included files and profile files are written inline; `Platform.load` reads the same platform
        again. A cluster or a cabinet whose hosts or links differ is written as the hosts, links and
        routes that it represents.

        Raises
        ------
        InputError
            If the format cannot express it; the message gives the remedy.

        Examples
        --------
        >>> tisim.Platform.load("platforms/backbone.xml").to_xml().splitlines()[2]
        '<platform version="4.1">'
        """
        from tisim.platform.description.writer import write_xml

        if self._description is None:
            raise InputError("this platform was created without a description and has no XML")
        return write_xml(self._description, self._topology, self._resources, self.profiles)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the platform to a file; see `to_xml`.

        Raises
        ------
        InputError
            If the file cannot be written, or as in `to_xml`.
        """
        write_file(path, self.to_xml())

    @cached_property
    def compiled(self) -> CompiledPlatform:
        """The platform as arrays, for the core."""
        from tisim.platform.compiled import CompiledPlatform

        columns = self._resources.columns
        return CompiledPlatform(self._topology, self._router, self.profiles, **columns)
