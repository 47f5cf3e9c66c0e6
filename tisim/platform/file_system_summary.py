"""What a platform's file systems are, for `tisim platform`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tisim.support.quantities import format_bytes, format_quantity, format_time

if TYPE_CHECKING:
    from tisim.platform.file_systems import FileSystem
    from tisim.platform.platform import Platform


@dataclass(frozen=True, slots=True)
class FileSystemSummary:
    """A file system: its name and type, where it is mounted, what it does.

    Attributes
    ----------
    name, type, mount
        The file system.
    servers, count
        How many servers it has, and on how many of them a file lies.
    stripe
        Bytes in a row on one server.
    read_bandwidth, write_bandwidth
        Of all its disks together, bytes/s.
    metadata
        Name of the host of its metadata server.
    metadata_latency, metadata_rate
        Seconds of an operation there, and operations a second; None: any number.
    size
        Bytes that it holds; None: any number.
    """

    name: str
    type: str
    mount: str
    servers: int
    count: int
    stripe: float
    read_bandwidth: float
    write_bandwidth: float
    metadata: str
    metadata_latency: float
    metadata_rate: float | None
    size: float | None

    def lines(self) -> list[str]:
        """Two lines for people."""
        servers = f"{self.servers} server{'s' if self.servers > 1 else ''}"
        stripes = f", stripes of {format_bytes(self.stripe)} on {self.count}"
        rate = f", {self.metadata_rate:,.0f} operations/s" if self.metadata_rate else ""
        size = f", holds {format_bytes(self.size)}" if self.size is not None else ""
        return [
            f"files      {self.mount}: {self.name}, {self.type}, {servers}"
            + (stripes if self.servers > 1 else "")
            + size,
            f"             reads {format_quantity(self.read_bandwidth, 'B/s')}, writes "
            f"{format_quantity(self.write_bandwidth, 'B/s')}; metadata on {self.metadata}: "
            f"{format_time(self.metadata_latency)}{rate}",
        ]


def summary_of(platform: Platform, system: FileSystem) -> FileSystemSummary:
    """The summary of one of a platform's file systems."""
    disks = [platform.disks[disk] for disk in system.servers]
    return FileSystemSummary(
        name=system.name,
        type=system.type,
        mount=system.mount,
        servers=len(disks),
        count=system.count,
        stripe=system.stripe,
        read_bandwidth=math.fsum(disk.read_bandwidth for disk in disks),
        write_bandwidth=math.fsum(disk.write_bandwidth for disk in disks),
        metadata=platform.hosts[system.metadata].name,
        metadata_latency=system.metadata_latency,
        metadata_rate=None if math.isinf(system.metadata_rate) else system.metadata_rate,
        size=None if math.isinf(system.size) else system.size,
    )
