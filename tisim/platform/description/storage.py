"""Disks and file systems described by properties, which SimGrid ignores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from tisim.errors import InputError
from tisim.platform.description.node import make_node
from tisim.platform.disks import MOUNT, NFS, SIZE, STRIPED, FileSystem
from tisim.platform.hosts import Radical
from tisim.platform.topology import did_you_mean
from tisim.support.quantities import parse_bandwidth, parse_size, parse_time

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tisim.platform.description.node import Node
    from tisim.platform.disks import DiskTable
    from tisim.platform.topology import Topology

#: Property of a host or cluster that gives each host a disk:
#: ``read=2GBps,write=1GBps,mount=/scratch,size=1TB``. SimGrid ignores it.
DISK: Final = "tisim/disk"

# Words of the property, and the attributes and properties of a <disk> that they set.
_ATTRIBUTES: Final = {"id": "id", "read": "read_bw", "write": "write_bw"}
_PROPERTIES: Final = {"mount": MOUNT, "size": SIZE}


def add_disks(disks: DiskTable, node: Node, hosts: Iterable[int]) -> None:
    """Add the disk of a ``<disk>`` element to each of the hosts."""
    for host in hosts:
        disks.add(host, node)


def described_disk(node: Node) -> Node | None:
    """Return the ``<disk>`` described by a property of a host or cluster; None if absent."""
    text = node.properties().get(DISK)
    if text is None:
        return None
    try:
        disk = disk_of_text(text)
    except InputError as error:
        raise node.error(f"{DISK}: {error.message}") from None
    disk.file, disk.line = node.file, node.line
    return disk


def disk_of_text(text: str) -> Node:
    """Return the ``<disk>`` described by text such as ``read=2GBps,write=1GBps,mount=/scratch``."""
    attributes, properties = {"id": "disk"}, {}
    for part in text.split(","):
        word, equals, value = (piece.strip() for piece in part.partition("="))
        if equals and value and word in _ATTRIBUTES:
            attributes[_ATTRIBUTES[word]] = value
        elif equals and value and word in _PROPERTIES:
            properties[_PROPERTIES[word]] = value
        else:
            raise InputError(
                "a disk must be read=RATE,write=RATE and optionally mount=PATH, size=BYTES and "
                f"id=NAME; {part.strip()!r} is none of these"
            )
    missing = [word for word in ("read", "write") if _ATTRIBUTES[word] not in attributes]
    if missing:
        raise InputError(f"a disk needs {' and '.join(f'{word}=RATE' for word in missing)}")
    return make_node("disk", attributes, properties)


#: Prefix of the property of a zone that describes a file system, followed by its name:
#: ``tisim/file-system/scratch``.
FILE_SYSTEM: Final = "tisim/file-system/"

# Defaults of a file system. Striped: stripe and count are Lustre's lov stripe_size and
# stripe_count, request and window its osc max_pages_per_rpc and max_rpcs_in_flight. NFS: the
# maximum rsize and wsize of Linux's client, and the session slots of version 4.1.
_DEFAULTS: Final[Mapping[str, Mapping[str, str]]] = {
    STRIPED: {"stripe": "1MiB", "count": "1", "request": "4MiB", "window": "8"},
    NFS: {"stripe": "1MiB", "count": "1", "request": "1MiB", "window": "64"},
}
_COMMON: Final[Mapping[str, str]] = {
    "metadata-latency": "0",
    "metadata-rate": "inf",
    "header": "256B",
    "size": "inf",
    "client-cache": "0",
    "server-cache": "0",
}
#: Words of a file system that `tisim platform new --pfs` accepts.
PFS_WORDS: Final = (
    *("servers", "read", "write", "mount", "stripe", "count", "metadata-latency"),
    *("metadata-rate", "request", "window", "header", "size", "client-cache"),
    *("server-cache", "server-cache-rate"),
)
_WORDS: Final = ("type", "disk", "metadata", *PFS_WORDS)
# Bytes; limited because the core multiplies them by numbers of servers in 64 bits.
_MAX_CHUNK_SIZE: Final = 2**40
_MAX_CACHE_SIZE: Final = 2**53


def read_words(text: str, known: tuple[str, ...], what: str) -> dict[str, str]:
    """Parse a line of comma-separated ``WORD=VALUE`` items."""
    words: dict[str, str] = {}
    for part in text.split(","):
        word, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value or word not in known:
            raise InputError(
                f"{what} is described by {', '.join(f'{one}=' for one in known)} separated by "
                f"commas; {part.strip()!r} is none of these{did_you_mean(word, known)}"
            )
        words[word] = value
    return words


def refuse_file_system(node: Node) -> None:
    """Raise an error if an element other than a zone describes a file system."""
    for name in node.properties():
        if name.startswith(FILE_SYSTEM):
            raise node.error(f"the property {name} must be in a <zone>, not in a <{node.tag}>")


def add_file_systems(topology: Topology, node: Node) -> None:
    """Add the file systems that the properties of a zone describe."""
    for key, text in node.properties().items():
        if not key.startswith(FILE_SYSTEM):
            continue
        name = key.removeprefix(FILE_SYSTEM)
        if not name:
            raise node.error(f"the name of the file system is missing: {FILE_SYSTEM}NAME")
        try:
            system = _FileSystemReader(topology, name, text).read()
        except InputError as error:
            raise node.error(f"{key}: {error.message}") from None
        disks = {disk.mount: disk.name for disk in topology.disks.disks if disk.mount}
        topology.file_systems.add(system, node, disks)


class _FileSystemReader:
    """Parses the line of one file system."""

    def __init__(self, topology: Topology, name: str, text: str) -> None:
        self._topology = topology
        self._name = name
        words = read_words(text, _WORDS, "a file system")
        self._type = words.get("type", STRIPED)
        if self._type not in _DEFAULTS:
            raise InputError(f"a file system must have the type nfs or striped, not {self._type!r}")
        missing = [word for word in ("mount", "servers") if word not in words]
        if missing:
            raise InputError(f"a file system needs {' and '.join(f'{word}=' for word in missing)}")
        self._words = {**_COMMON, **_DEFAULTS[self._type], **words}
        self._rates = self._read_rates(words)

    def read(self) -> FileSystem:
        """Return the file system."""
        words = self._words
        hosts = self._hosts("servers")
        if self._type == NFS and len(hosts) > 1:
            raise InputError(f"a file system of type nfs must have one server, not {len(hosts)}")
        mount = words["mount"].rstrip("/") or words["mount"]
        if not mount.startswith("/"):
            raise InputError(f"it must be mounted at an absolute path, not at {mount!r}")
        count = len(hosts) if words["count"] == "all" else self._whole("count")
        if count > len(hosts):
            raise InputError(f"count={count}: a file can be on at most all {len(hosts)} servers")
        return FileSystem(
            name=self._name,
            type=self._type,
            mount=mount,
            servers=tuple(self._disk(host) for host in hosts),
            stripe=self._chunk_size("stripe"),
            count=count,
            metadata=self._hosts("metadata")[0] if "metadata" in words else hosts[0],
            metadata_latency=parse_time(words["metadata-latency"], "metadata-latency"),
            metadata_rate=self._rate(),
            request=self._chunk_size("request"),
            window=self._whole("window"),
            header=parse_size(words["header"], "header"),
            size=self._or_infinite("size", lambda text: parse_size(text, "size")),
            client_cache=self._cache("client-cache"),
            server_cache=self._cache("server-cache"),
            buffers=self._buffers(hosts),
            index=len(self._topology.file_systems),
        )

    def _read_rates(self, words: Mapping[str, str]) -> tuple[float, float] | None:
        """Return the file system's own disk rates (bytes/s) for reads and writes, or None."""
        if "read" not in words and "write" not in words:
            return None
        if "read" not in words or "write" not in words or "disk" in words:
            raise InputError(
                "separate disks need read= and write=; without both, the disks of the servers are "
                "used, selected by disk="
            )
        read, write = (parse_bandwidth(words[word], word) for word in ("read", "write"))
        if min(read, write) <= 0:
            raise InputError("read and write must be above zero")
        return read, write

    def _hosts(self, word: str) -> list[int]:
        """Return the hosts of a word's value: names and patterns separated by blanks."""
        topology = self._topology
        found: dict[int, None] = {}
        for pattern in self._words[word].split():
            index = topology.hosts.find(pattern)
            if index is not None:
                found[index] = None
                continue
            matching = [*self._numbered(pattern)] if "{" in pattern else self._like(pattern)
            if not matching:
                hint = did_you_mean(pattern, topology.host_names())
                raise InputError(f"{word}={pattern}: the platform has no such host{hint}")
            found.update(dict.fromkeys(matching))
        if word == "metadata" and len(found) > 1:
            raise InputError(
                f"metadata={self._words[word]}: {len(found)} hosts; only one is possible"
            )
        return list(found)

    def _like(self, pattern: str) -> list[int]:
        names = enumerate(self._topology.host_names())
        return [index for index, name in names if fnmatchcase(name, pattern)]

    def _numbered(self, pattern: str) -> Iterator[int]:
        """Yield the hosts of a pattern such as ``node-{8-15}``."""
        before, _, rest = pattern.partition("{")
        numbers, _, after = rest.partition("}")
        try:
            radical = Radical(numbers)
        except ValueError as error:
            raise InputError(f"servers={pattern}: {error}") from None
        for number in radical:
            index = self._topology.hosts.find(f"{before}{number}{after}")
            if index is None:
                name = f"{before}{number}{after}"
                raise InputError(f"servers={pattern}: the platform has no host {name}")
            yield index

    def _disk(self, host: int) -> int:
        """Return the index of the server's disk that stores the file system."""
        if self._rates is not None:
            return self._add_disk(host, self._name, self._rates)
        wanted = self._words.get("disk")
        disks = self._topology.disks.of_host(host)
        chosen = [disk for disk in disks if wanted in (None, disk.name)]
        if chosen:
            return chosen[0].index
        name = self._topology.hosts.name(host)
        if wanted is None:
            raise InputError(f"the server {name!r} has no disk; give it a <disk>")
        raise InputError(f"disk={wanted}: the server {name!r} has no disk with that name")

    def _add_disk(self, host: int, name: str, rates: tuple[float, float]) -> int:
        node = make_node("disk", {"id": name, "read_bw": rates[0], "write_bw": rates[1]})
        self._topology.disks.add(host, node)
        return self._topology.disks.disks[-1].index

    def _buffers(self, hosts: list[int]) -> tuple[int, ...]:
        """Return the disks that model the servers' caches."""
        text = self._words.get("server-cache-rate")
        if text is None:
            return ()
        rate = parse_bandwidth(text, "server-cache-rate")
        if rate <= 0 or self._cache("server-cache") == 0:
            raise InputError(
                "server-cache-rate, the rate at which a cache accepts data, must be above zero and "
                "needs server-cache="
            )
        name = f"cache of {self._name}"
        return tuple(self._add_disk(host, name, (rate, rate)) for host in hosts)

    def _cache(self, word: str) -> float:
        size = parse_size(self._words[word], word)
        if not (size <= _MAX_CACHE_SIZE and size == math.floor(size)):
            raise InputError(f"{word} must be a whole number of bytes, not {self._words[word]!r}")
        return size

    def _whole(self, word: str) -> int:
        text = self._words[word]
        if not (text.isascii() and text.isdigit() and 0 < int(text) < 2**31):
            raise InputError(f"{word} must be a whole number above zero, not {text!r}")
        return int(text)

    def _chunk_size(self, word: str) -> float:
        size = parse_size(self._words[word], word)
        if not (1 <= size <= _MAX_CHUNK_SIZE and size == math.floor(size)):
            raise InputError(
                f"{word} must be a whole number of bytes from 1 to 1 TiB, not {self._words[word]!r}"
            )
        return size

    def _rate(self) -> float:
        """Return the metadata rate in operations per second."""

        def read(text: str) -> float:
            try:
                rate = float(text)
            except ValueError:
                rate = math.nan
            if not 0 < rate < math.inf:
                raise InputError(
                    f"metadata-rate must be operations per second above zero, not {text!r}"
                )
            return rate

        return self._or_infinite("metadata-rate", read)

    def _or_infinite(self, word: str, read: Callable[[str], float]) -> float:
        text = self._words[word]
        return math.inf if text == "inf" else read(text)
