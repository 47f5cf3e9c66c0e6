"""The parts of a platform that a simulation uses, as protocols."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tisim.config.configuration import PlacedOption


class ArraysLike(Protocol):
    """The arrays of a platform (`tisim.platform.compiled.CompiledPlatform`)."""

    @property
    def link_bandwidth(self) -> NDArray[np.float64]:
        """Bandwidth of each link in bytes/s; shape (links,)."""
        ...

    @property
    def link_fatpipe(self) -> NDArray[np.uint8]:
        """1 for each link that is a FATPIPE, else 0; shape (links,)."""
        ...

    @property
    def events(self) -> ColumnsLike:
        """How the platform changes over time."""
        ...

    def buffer(self, name: str) -> array[int] | array[float]:
        """The numbers of a column, of whichever type it has."""
        ...

    def floats(self, name: str) -> array[float]:
        """The numbers of a column of floating-point numbers."""
        ...

    def integers(self, name: str) -> array[int]:
        """The numbers of a column of integers."""
        ...

    def with_loopback(self, bandwidth: float, latency: float) -> Self:
        """The same with the network model's loopback (bytes/s, s)."""
        ...

    def host_name(self, index: int) -> str:
        """Name of a host."""
        ...

    def link_name(self, index: int) -> str:
        """Name of a link."""
        ...

    def route(self, source: int, destination: int) -> tuple[array[int], float]:
        """The links from one host to another, given by index, and the latency in seconds."""
        ...


class ColumnsLike(Protocol):
    """Columns of numbers (`tisim.platform.columns.Columns`)."""

    def floats(self, name: str) -> array[float]:
        """The numbers of a column of floating-point numbers."""
        ...

    def integers(self, name: str) -> array[int]:
        """The numbers of a column of integers."""
        ...


class FileSystemLike(Protocol):
    """A file system on servers (`tisim.platform.disks.FileSystem`), for the core."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def type(self) -> str:
        """``nfs`` or ``striped``."""
        ...

    @property
    def mount(self) -> str:
        """The directory whose files it holds."""
        ...

    @property
    def servers(self) -> tuple[int, ...]:
        """Indices of its disks."""
        ...

    @property
    def stripe(self) -> float:
        """Bytes in a row on one server."""
        ...

    @property
    def count(self) -> int:
        """Servers of a file."""
        ...

    @property
    def metadata(self) -> int:
        """Index of the host of its metadata server."""
        ...

    @property
    def metadata_latency(self) -> float:
        """Seconds of an operation there."""
        ...

    @property
    def metadata_rate(self) -> float:
        """Operations a second there."""
        ...

    @property
    def request(self) -> float:
        """Bytes of the largest request."""
        ...

    @property
    def window(self) -> int:
        """Requests of a call under way at a time."""
        ...

    @property
    def header(self) -> float:
        """Bytes of a request beside its data."""
        ...

    @property
    def size(self) -> float:
        """Bytes that it holds."""
        ...

    @property
    def client_cache(self) -> float:
        """Capacity in bytes of the write cache of a host; 0 for none."""
        ...

    @property
    def server_cache(self) -> float:
        """Capacity in bytes of the write cache of a server; 0 for none."""
        ...

    @property
    def buffers(self) -> tuple[int, ...]:
        """Indices of the disks that are these caches; empty: they are memory."""
        ...

    @property
    def flushes_on_close(self) -> bool:
        """Whether a close waits for the cache of its host."""
        ...


class DiskLike(Protocol):
    """A disk of a host."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def host(self) -> int:
        """Index of its host."""
        ...

    @property
    def mount(self) -> str:
        """The directory whose files it holds; empty: it is not mounted."""
        ...


class PlatformLike(Protocol):
    """A platform (`tisim.Platform`), as far as a simulation needs one."""

    @property
    def file(self) -> str:
        """Where it comes from, for messages."""
        ...

    @property
    def warnings(self) -> tuple[str, ...]:
        """Remarks made while reading it."""
        ...

    @property
    def config_items(self) -> Sequence[PlacedOption]:
        """Its own options."""
        ...

    @property
    def hosts(self) -> Sequence[object]:
        """All hosts."""
        ...

    @property
    def file_systems(self) -> Sequence[FileSystemLike]:
        """All file systems on servers."""
        ...

    @property
    def disks(self) -> Sequence[DiskLike]:
        """All disks, host by host."""
        ...

    @property
    def compiled(self) -> ArraysLike:
        """The platform as arrays."""
        ...

    def host_names(self) -> Iterable[str]:
        """All names of hosts, in the order of the hosts."""
        ...

    def host_properties(self) -> Iterator[tuple[int, int, Mapping[str, str]]]:
        """Runs of hosts that share their properties: index of the first, their number, these."""
        ...

    def host_index(self, host: str, /) -> int:
        """The position of a host, given by its name."""
        ...

    def disk_of(self, host: int, file: str, /) -> int:
        """The position of what holds a file on a host: a disk; file systems count after them."""
        ...
