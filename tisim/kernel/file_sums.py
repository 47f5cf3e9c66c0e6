"""File accesses of a job's ranks: sums by rank, by file name and by server, bytes over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NotRequired, TypedDict

from tisim import _core

if TYPE_CHECKING:
    from tisim._core import AccessCounters, Simulation

# Maximum number of (rank, server) pairs listed for each file system, longest waits first.
_WAITS = 100


class AccessesDict(TypedDict):
    """Reads or writes of files with one name.

    `sequential` accesses begin at or after the end of the previous one of the same handle,
    `consecutive` ones exactly there, `aligned` ones at a multiple of the stripe (on disks of hosts:
    of 4096 bytes). `sizes` counts the calls by Darshan's size classes, whose bounds are
    `SIZE_BOUNDS`. `over_time` has the bytes in each time bin; it is empty if none moved.
    """

    calls: int
    bytes: int
    sequential: int
    consecutive: int
    aligned: int
    sizes: list[int]
    over_time: list[float]


class FileUseDict(TypedDict):
    """Files with one name in the trace; `name` is empty for all beyond the first 256.

    `file_system` is None for files on disks of hosts. `seconds` is the time that ranks waited for
    reads and writes.
    """

    name: str
    file_system: str | None
    opens: int
    seconds: float
    reads: AccessesDict
    writes: AccessesDict


class WaitDict(TypedDict):
    """Time that a rank waited for a server, the last to reply to each of these calls.

    The metadata server is the last one of a file system, after the data servers.
    """

    rank: int
    file_system: str
    server: int
    host: str
    calls: int
    seconds: float


#: Bounds of the size classes, in bytes: the first class is below the first bound.
SIZE_BOUNDS: tuple[int, ...] = tuple(_core.file_size_bounds())


def file_uses(core: Simulation, file_systems: Sequence[str]) -> list[FileUseDict]:
    """Return the accesses to the files of each name, in the order of their first opening."""
    return [
        {
            "name": use.name,
            "file_system": file_systems[use.file_system] if use.file_system >= 0 else None,
            "opens": use.opens,
            "seconds": use.seconds,
            "reads": accesses(use.reads, moved[0]),
            "writes": accesses(use.writes, moved[1]),
        }
        for number, use in enumerate(core.file_uses())
        for moved in [core.moved_of_files(number)]
    ]


def accesses(counters: AccessCounters, over_time: Sequence[float] = ()) -> AccessesDict:
    """Convert reads or writes to numbers and lists."""
    return {
        "calls": counters.calls,
        "bytes": counters.bytes,
        "sequential": counters.sequential,
        "consecutive": counters.consecutive,
        "aligned": counters.aligned,
        "sizes": list(counters.sizes),
        "over_time": list(over_time),
    }


def server_waits(
    core: Simulation, first_rank: int, servers: Mapping[str, Sequence[str]]
) -> list[WaitDict]:
    """Return the longest waits of ranks for servers.

    `servers` has the host names of each file system's servers, the metadata server last.
    """
    found: list[WaitDict] = [
        {
            "rank": wait.rank - first_rank,
            "file_system": name,
            "server": wait.server,
            "host": hosts[wait.server],
            "calls": wait.calls,
            "seconds": wait.seconds,
        }
        for number, (name, hosts) in enumerate(servers.items())
        for wait in core.longest_waits(number, _WAITS)
        if wait.rank >= first_rank
    ]
    return sorted(found, key=lambda wait: -wait["seconds"])


class ServersDict(TypedDict):
    """Requests to the servers of a file system; the last one is the metadata server.

    `seconds` is the total time from the arrival of each request to its reply, `waited` the time
    that ranks waited for a server that was the last to reply to their calls, `awaited` the number
    of these calls. `read_over_time` and `written_over_time` have the bytes in each time bin; they
    are empty if none moved.
    """

    hosts: list[str]
    seconds: list[float]
    requests: list[int]
    bytes_read: list[int]
    bytes_written: list[int]
    waited: list[float]
    awaited: list[int]
    read_over_time: list[list[float]]
    written_over_time: list[list[float]]


class IoDict(TypedDict):
    """Accesses to files: one value per rank, files by name, file systems on servers.

    `bin_seconds` is the width of a time bin; `waits` has the longest waits of ranks for servers.
    `files` and `file_systems` cover all jobs and processes of a simulation.
    """

    file_systems: NotRequired[dict[str, ServersDict]]
    seconds: list[float]
    bytes_read: list[int]
    bytes_written: list[int]
    calls: list[int]
    bin_seconds: NotRequired[float]
    files: NotRequired[list[FileUseDict]]
    waits: NotRequired[list[WaitDict]]


def file_sums(core: Simulation, job: int, servers: Mapping[str, Sequence[str]]) -> IoDict | None:
    """Return the file accesses of a job's ranks; None if there were none.

    `servers` has the host names of each file system's servers, the metadata server last. Their
    sums cover all jobs and processes.
    """
    results = core.file_results(job)
    if results is None:
        return None
    sums: IoDict = {
        "seconds": results["seconds"],
        "bytes_read": results["bytes_read"],
        "bytes_written": results["bytes_written"],
        "calls": results["calls"],
        "bin_seconds": core.file_bin_width(),
        "files": file_uses(core, list(servers)),
    }
    asked = {
        name: _server_sums(core, index, hosts)
        for index, (name, hosts) in enumerate(servers.items())
    }
    asked = {name: sums for name, sums in asked.items() if any(sums["requests"])}
    if asked:
        sums["file_systems"] = asked
        sums["waits"] = server_waits(core, core.first_rank(job), servers)
    return sums


def _server_sums(core: Simulation, file_system: int, hosts: Sequence[str]) -> ServersDict:
    results = core.server_results(file_system)
    waits = core.waits_of_servers(file_system)
    moved = [core.moved_of_server(file_system, server) for server in range(len(hosts))]
    return {
        "hosts": list(hosts),
        "seconds": results["seconds"],
        "requests": results["requests"],
        "bytes_read": results["bytes_read"],
        "bytes_written": results["bytes_written"],
        "waited": [wait.seconds for wait in waits],
        "awaited": [wait.calls for wait in waits],
        "read_over_time": [read for read, _ in moved],
        "written_over_time": [written for _, written in moved],
    }
