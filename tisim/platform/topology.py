"""A platform under construction: its tables, its names, and the tree of its zones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.platform.columns import Resources
from tisim.platform.disks import DiskTable, FileSystemTable
from tisim.platform.hosts import HostTable
from tisim.platform.links import DEFAULT_LOOPBACK, LinkTable
from tisim.support.similar import similar

if TYPE_CHECKING:
    from tisim.platform.zones.base import Point, Zone

# Maximum number of names searched for one similar to a misspelt name.
_SEARCHED_NAMES = 5000


@dataclass(slots=True)
class Topology:
    """Hosts, disks, file systems, links and zones, with lookup by name.

    `hosts`, `links`, `disks`, `file_systems`: the tables; their indices are those of the finished
    platform. `root`: the outermost zone. `points`: hosts named in the file, routers and zones, by
    name.
    """

    hosts: HostTable = field(default_factory=HostTable)
    links: LinkTable = field(default_factory=LinkTable)
    disks: DiskTable = field(default_factory=DiskTable)
    file_systems: FileSystemTable = field(default_factory=FileSystemTable)
    root: Zone | None = None
    points: dict[str, Point] = field(default_factory=dict)
    _loopback: int = -1

    def find_point(self, name: str) -> Point | None:
        """Return the host, router or zone of that name, or None."""
        point = self.points.get(name)
        if point is None:
            host = self.hosts.find(name)
            point = None if host is None else self.hosts.point(host)
        return point

    def host_names(self) -> Iterable[str]:
        """Yield the names of all hosts."""
        return self.hosts.names()

    def declared_numbers(self) -> Resources:
        """Return the numbers of hosts, links and disks as declared by the elements."""
        return Resources(
            host_speed=self.hosts.speeds,
            host_cores=self.hosts.cores,
            **self.links.columns(),
            **self.disks.columns(),
        )

    def find_storage(self, host: int, file: str) -> int:
        """Return the disk that holds a file on a host, or the file system, counted after all disks.

        The longest mount point wins. A file without an absolute path is on the first disk of the
        host, or on the first file system if the host has no disks. Raises an `InputError` if
        nothing is mounted there.
        """
        disk = self.disks.find(host, file)
        system = self.file_systems.find(file)
        if disk is not None and (
            system is None or not file.startswith("/") or len(disk.mount) > len(system.mount)
        ):
            return disk.index
        if system is not None:
            return len(self.disks) + system.index
        mounts = [mounted.mount for mounted in self.disks.of_host(host) if mounted.mount]
        has = f"its disks are mounted at {', '.join(mounts)}" if mounts else "it has none"
        if self.file_systems.systems:
            mounts = [mounted.mount for mounted in self.file_systems.systems]
            has += f", and the file systems of the platform at {', '.join(mounts)}"
        raise InputError(
            f"no disk of host {self.hosts.name(host)!r} contains {file!r}: {has}; give the host a "
            '<disk> with a <prop id="mount" value="..."/>'
        )

    def default_loopback(self) -> int:
        """Return the index of the network model's loopback, which is created on first use."""
        if self._loopback < 0:
            self._loopback = self.links.add_listed(DEFAULT_LOOPBACK, 1.0, 0.0, fatpipe=True)
        return self._loopback

    @property
    def loopback(self) -> int:
        """Index of the default loopback, or -1 if no zone uses it."""
        return self._loopback


def did_you_mean(name: str, *known: Iterable[str]) -> str:
    """Return ``"; did you mean a or b?"`` with the known names similar to `name`, or ""."""
    searched = dict.fromkeys(islice(chain.from_iterable(known), _SEARCHED_NAMES))
    whole = [full for full in searched if name and full.startswith(f"{name}.")]
    close = whole[:3] or similar(name, searched, limit=3, cutoff=0.5)
    return f"; did you mean {' or '.join(close)}?" if close else ""
