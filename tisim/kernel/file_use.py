"""How programs used files in a simulation: sums by name, bytes over time, waits for servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from tisim import _core

if TYPE_CHECKING:
    from tisim._core import AccessHabits, FileUse, Simulation

# Of each file system, so many pairs of a rank and a server are listed, the longest waits first.
_WAITS = 100


class AccessesDict(TypedDict):
    """Reads, or writes, of files with one name.

    `sequential` ones begin where the one before of the same handle has ended, or behind;
    `consecutive` ones just there; `aligned` ones at a multiple of the stripe (on disks of hosts: of
    4096 bytes). `sizes` counts the calls by the classes of Darshan, whose bounds are
    `SIZE_BOUNDS`. `over_time` has the bytes in each bin of time; it is empty where none moved.
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

    `file_system` is None for files on disks of hosts, `seconds` those that ranks waited for reads
    and writes.
    """

    name: str
    file_system: str | None
    opens: int
    seconds: float
    reads: AccessesDict
    writes: AccessesDict


class WaitDict(TypedDict):
    """How long a rank waited for a server: the last one that replied to each of its calls.

    The server of metadata is the last one of a file system, behind those of data.
    """

    rank: int
    file_system: str
    server: int
    host: str
    calls: int
    seconds: float


#: Bounds of the classes of sizes, in bytes: the first class is below the first bound.
SIZE_BOUNDS: tuple[int, ...] = tuple(_core.file_size_bounds())


def file_uses(core: Simulation, file_systems: Sequence[str]) -> list[FileUseDict]:
    """What was done with the files of each name, in the order in which they were opened first.

    Parameters
    ----------
    core
        The simulation.
    file_systems
        The names of those on servers.
    """
    return [
        {
            "name": use.name,
            "file_system": file_systems[use.file_system] if use.file_system >= 0 else None,
            "opens": use.opens,
            "seconds": use.seconds,
            "reads": accesses(use.reads, moved[0]),
            "writes": accesses(use.writes, moved[1]),
        }
        for use, moved in _moved(core)
    ]


def _moved(core: Simulation) -> list[tuple[FileUse, tuple[list[float], list[float]]]]:
    return [(use, core.moved_of_files(number)) for number, use in enumerate(core.file_uses())]


def accesses(habits: AccessHabits, over_time: Sequence[float] = ()) -> AccessesDict:
    """Reads or writes as numbers and lists."""
    return {
        "calls": habits.calls,
        "bytes": habits.bytes,
        "sequential": habits.sequential,
        "consecutive": habits.consecutive,
        "aligned": habits.aligned,
        "sizes": list(habits.sizes),
        "over_time": list(over_time),
    }


def server_waits(
    core: Simulation, first_rank: int, servers: Mapping[str, Sequence[str]]
) -> list[WaitDict]:
    """Who waited longest for which server.

    Parameters
    ----------
    core
        The simulation.
    first_rank
        The number there of the job's rank 0.
    servers
        Names of the hosts of the servers of each file system, that of metadata last.
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
