"""The file systems of a platform that lie on servers: NFS and striped parallel ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tisim.platform.disks import holds

if TYPE_CHECKING:
    from tisim.platform.description.node import Node

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
        """Whether a close waits for the cache of its host, as NFS does."""
        return self.type == NFS


@dataclass(slots=True)
class FileSystemTable:
    """All file systems of a platform."""

    systems: list[FileSystem] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.systems)

    def add(self, system: FileSystem, node: Node, disks: Mapping[str, str]) -> None:
        """Add a file system that a property of a zone describes.

        Parameters
        ----------
        system, node
            The file system, and the element with the property.
        disks
            The names of disks by their mount points.

        Raises
        ------
        InputError
            If another has its name or its mount point.
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
