"""The disks of a platform, each on a host, and its file systems, which are on servers."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tisim.support.quantities import parse_size

if TYPE_CHECKING:
    from tisim.platform.columns import Numbers
    from tisim.platform.description.node import Node

#: Properties of a disk that SimGrid's file system plugin reads: mount point and capacity in bytes.
MOUNT: Final = "mount"
SIZE: Final = "size"


def contains_path(mount: str, file: str) -> bool:
    """Return True if a mount point contains a file; both are absolute paths."""
    return bool(mount) and (mount == "/" or file == mount or file.startswith(f"{mount}/"))


@dataclass(frozen=True, slots=True)
class Disk:
    """One disk of a host.

    Attributes
    ----------
    name
        Name, unique on the host.
    host
        Index of its host.
    read_bandwidth, write_bandwidth
        Bytes/s for all reads and for all writes; the larger one bounds both combined.
    mount
        The directory whose files it stores, such as ``/scratch``; empty if not mounted.
    size
        Capacity in bytes; infinite if the platform does not specify it.
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
    """All disks of a platform, indexed by number, and by host and name."""

    disks: list[Disk] = field(default_factory=list)
    _of_host: dict[int, list[Disk]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.disks)

    def of_host(self, host: int) -> list[Disk]:
        """Return the disks of a host, in the order of the file."""
        return self._of_host.get(host, [])

    def add(self, host: int, node: Node) -> None:
        """Add the disk described by an element of a host."""
        properties, name = node.properties(), node["id"]
        mount, size = properties.get(MOUNT, ""), float("inf")
        if SIZE in properties:
            size = parse_size(
                properties[SIZE], f"size of disk {name}", file=node.file, line=node.line
            )
        if mount and not mount.startswith("/"):
            raise node.error(f"a disk must be mounted at an absolute path, not at {mount!r}")
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

    def find(self, host: int, file: str) -> Disk | None:
        """Return the disk of a host with the longest mount point above a file, or None.

        A file without an absolute path is on the first disk of the host.
        """
        disks = self.of_host(host)
        held = (
            disks[:1]
            if not file.startswith("/")
            else [d for d in disks if contains_path(d.mount, file)]
        )
        return max(held, key=lambda disk: len(disk.mount), default=None)

    def columns(self) -> dict[str, Numbers]:
        """Return the disk columns of `tisim.platform.columns.Resources`."""
        return {
            "disk_host": array("i", [disk.host for disk in self.disks]),
            "disk_read_bandwidth": array("d", [disk.read_bandwidth for disk in self.disks]),
            "disk_write_bandwidth": array("d", [disk.write_bandwidth for disk in self.disks]),
            "disk_size": array("d", [disk.size for disk in self.disks]),
        }


#: Types of file systems: one server, or stripes across several.
NFS: Final = "nfs"
STRIPED: Final = "striped"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystem:
    """A file system visible to all hosts of a platform, on disks of its servers.

    Attributes
    ----------
    name
        Name, unique in the platform.
    type
        ``nfs`` or ``striped``.
    mount
        The directory whose files it stores, on every host.
    servers
        Indices of its disks, one per server.
    stripe, count
        Bytes per stripe, and number of servers that a file is striped across.
    metadata
        Index of the host that executes open, close, stat, unlink and mkdir.
    metadata_latency, metadata_rate
        Seconds per metadata operation excluding queueing, and maximum number of operations
        started per second; infinite: no limit.
    request, window
        Maximum request size in bytes, and maximum number of requests of one call in flight or
        at a server.
    header
        Bytes of a request and of a reply in addition to the data.
    size
        Capacity in bytes; infinite: unlimited.
    client_cache, server_cache
        Maximum number of dirty bytes cached by a host (not yet on a server) and by a server (not
        yet on its disk); 0: no cache.
    buffers
        Indices of the disks that act as the servers' caches; empty if the caches are memory.
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
        """True if a close waits for its host's cache to be written, as in NFS."""
        return self.type == NFS


@dataclass(slots=True)
class FileSystemTable:
    """All file systems of a platform."""

    systems: list[FileSystem] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.systems)

    def add(self, system: FileSystem, node: Node, disks: Mapping[str, str]) -> None:
        """Add a file system described by a property of a zone.

        `system`: the file system. `node`: the element with the property. `disks`: the names of
        disks by mount point.
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

    def find(self, file: str) -> FileSystem | None:
        """Return the file system with the longest mount point above a file, or None.

        A file without an absolute path is on the first file system.
        """
        if not file.startswith("/"):
            return self.systems[0] if self.systems else None
        held = [system for system in self.systems if contains_path(system.mount, file)]
        return max(held, key=lambda system: len(system.mount), default=None)
