"""The disks of a platform, each on a host, and its file systems on servers."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tisim.support.quantities import parse_size

if TYPE_CHECKING:
    from tisim.platform.columns import Numbers
    from tisim.platform.description.node import Node

#: The properties of a disk that SimGrid's plugin for files reads: where the disk is mounted, and
#: how many bytes it holds.
MOUNT: Final = "mount"
SIZE: Final = "size"


def holds(mount: str, file: str) -> bool:
    """True if a directory is above a file, both given by their paths from the root."""
    return bool(mount) and (mount == "/" or file == mount or file.startswith(f"{mount}/"))


@dataclass(frozen=True, slots=True)
class Disk:
    """One disk of a host.

    Attributes
    ----------
    name
        The disk's name, which no other disk of the host has.
    host
        Index of its host.
    read_bandwidth, write_bandwidth
        In bytes/s: of all that is read, and of all that is written. Both together get the larger.
    mount
        The directory whose files it holds, such as ``/scratch``; empty: it is not mounted.
    size
        How many bytes it holds; infinite if the platform does not say.
    properties
        The ``<prop>`` elements of the disk.
    index
        Position in ``platform.disks`` and in the arrays of the compiled platform.
    """

    name: str
    host: int
    read_bandwidth: float
    write_bandwidth: float
    mount: str
    size: float
    properties: Mapping[str, str]
    index: int


@dataclass(slots=True)
class DiskTable:
    """All disks of a platform, by index, and by host and name."""

    disks: list[Disk] = field(default_factory=list)
    _of_host: dict[int, list[Disk]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.disks)

    def of_host(self, host: int) -> list[Disk]:
        """The disks of a host, in the order of the file."""
        return self._of_host.get(host, [])

    def add(self, host: int, node: Node) -> None:
        """Add the disk that an element of a host describes."""
        properties, name = node.properties(), node["id"]
        mount, size = properties.get(MOUNT, ""), float("inf")
        if SIZE in properties:
            size = parse_size(
                properties[SIZE], f"size of disk {name}", file=node.file, line=node.line
            )
        if mount and not mount.startswith("/"):
            raise node.error(f"a disk is mounted at a path from the root, not at {mount!r}")
        mount = mount.rstrip("/") or mount
        for disk in self.of_host(host):
            if disk.name == name:
                raise node.error(f"the host has two disks named {name!r}")
            if mount and disk.mount == mount:
                raise node.error(
                    f"the disks {disk.name!r} and {name!r} are both mounted at {mount}"
                )
        rates = node.number("read_bw"), node.number("write_bw")
        disk = Disk(name, host, *rates, mount, size, properties, len(self.disks))
        self.disks.append(disk)
        self._of_host.setdefault(host, []).append(disk)

    def holding(self, host: int, file: str) -> Disk | None:
        """The disk of a host with the longest mount point above a file.

        A file without a path from the root is on the first disk of the host.
        """
        disks = self.of_host(host)
        held = disks[:1] if not file.startswith("/") else [d for d in disks if holds(d.mount, file)]
        return max(held, key=lambda disk: len(disk.mount), default=None)

    def columns(self) -> dict[str, Numbers]:
        """The disk columns of `tisim.platform.columns.Resources`."""
        return {
            "disk_host": array("i", [disk.host for disk in self.disks]),
            "disk_read_bandwidth": array("d", [disk.read_bandwidth for disk in self.disks]),
            "disk_write_bandwidth": array("d", [disk.write_bandwidth for disk in self.disks]),
            "disk_size": array("d", [disk.size for disk in self.disks]),
        }


#: The types of file systems: one server, or stripes on several.
NFS: Final = "nfs"
STRIPED: Final = "striped"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystem:
    """A file system that all hosts of a platform see, on disks of its servers.

    Attributes
    ----------
    name
        Its name, which no other file system has.
    type
        ``nfs`` or ``striped``.
    mount
        The directory whose files it holds, on every host.
    servers
        Indices of the disks that it lies on, one of each server.
    stripe, count
        How many bytes in a row lie on one server, and on how many servers a file lies.
    metadata
        Index of the host that carries out open, close, stat, unlink and mkdir.
    metadata_latency, metadata_rate
        Seconds that each of these takes beside waiting for its turn, and how many of them begin in
        a second at most; infinite: all at once.
    request, window
        Bytes of the largest request, and how many requests of one call are at a server or on their
        way at a time.
    header
        Bytes that a request and a reply carry beside the data.
    size
        How many bytes it holds; infinite: any number.
    client_cache, server_cache
        How many bytes a host may have written that no server has, and a server may have that its
        disk has not; 0: there is no cache.
    buffers
        Indices of the disks that are the caches of the servers; empty: they are memory.
    index
        Position in ``platform.file_systems``.
    """

    name: str
    type: str
    mount: str
    servers: tuple[int, ...]
    stripe: float
    count: int
    metadata: int
    metadata_latency: float
    metadata_rate: float
    request: float
    window: int
    header: float
    size: float
    client_cache: float
    server_cache: float
    buffers: tuple[int, ...]
    index: int

    @property
    def flushes_on_close(self) -> bool:
        """True if a close waits for the cache of its host, as in NFS."""
        return self.type == NFS


@dataclass(slots=True)
class FileSystemTable:
    """All file systems of a platform."""

    systems: list[FileSystem] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.systems)

    def add(self, system: FileSystem, node: Node, disks: Mapping[str, str]) -> None:
        """Add a file system that a property of a zone describes.

        `system`, `node` are the file system, and the element with the property. `disks` is the
        names of disks by their mount points.
        """
        for other in self.systems:
            if other.name == system.name:
                raise node.error(f"the platform has two file systems named {system.name!r}")
            if other.mount == system.mount:
                raise node.error(
                    f"the file systems {other.name!r} and {system.name!r} are both mounted at "
                    f"{system.mount}"
                )
        if system.mount in disks:
            raise node.error(
                f"the file system {system.name!r} and the disk {disks[system.mount]!r} of a host "
                f"are both mounted at {system.mount}"
            )
        self.systems.append(system)

    def holding(self, file: str) -> FileSystem | None:
        """The file system with the longest mount point above a file.

        A file without a path from the root is on the first file system.
        """
        if not file.startswith("/"):
            return self.systems[0] if self.systems else None
        held = [system for system in self.systems if holds(system.mount, file)]
        return max(held, key=lambda system: len(system.mount), default=None)
