"""The disks of a platform, each on a host."""

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
    """Whether what is mounted at a directory holds a file, both with their paths from the root."""
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

    def add(self, host: int, node: Node, read_bandwidth: float, write_bandwidth: float) -> None:
        """Add the disk that an element of a host describes.

        Raises
        ------
        InputError
            If the host has a disk of that name, or another with the same mount point.
        """
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
        disk = Disk(
            name, host, read_bandwidth, write_bandwidth, mount, size, properties, len(self.disks)
        )
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
        """What `tisim.platform.resources.Resources` says of disks."""
        return {
            "disk_host": array("i", [disk.host for disk in self.disks]),
            "disk_read_bandwidth": array("d", [disk.read_bandwidth for disk in self.disks]),
            "disk_write_bandwidth": array("d", [disk.write_bandwidth for disk in self.disks]),
            "disk_size": array("d", [disk.size for disk in self.disks]),
        }
