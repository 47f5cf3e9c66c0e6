"""What the ranks of a job did with files."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NotRequired, TypedDict

from tisim.kernel.file_use import FileUseDict, WaitDict, file_uses, server_waits

if TYPE_CHECKING:
    from tisim._core import Simulation


class ServersDict(TypedDict):
    """What the servers of a file system were asked for; the last one is that of metadata.

    `seconds` are those from the arrival of each request to its reply, added up; `waited` those that
    ranks waited for a server that was the last one to reply to their calls, and `awaited` how many
    calls. `read_over_time` and `written_over_time` have the bytes in each bin of time; they are
    empty where none moved.
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
    """What ranks did with files, one number a rank; files by name; file systems on servers.

    `bin_seconds` is how long a bin of time is; `waits` has the longest waits of ranks for servers.
    `files` and `file_systems` are of all jobs and processes of a simulation.
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
    """What the ranks of a job did with files; None if they called nothing.

    Parameters
    ----------
    core, job
        The simulation and the job.
    servers
        Names of the hosts of the servers of each file system, that of metadata last. What these
        were asked for is a sum over all jobs and processes.

    Returns
    -------
    IoDict
        `seconds` in reads and writes, bytes, and how many calls on files.
    """
    results = core.file_results(job)
    if results is None:
        return None
    sums: IoDict = {
        "seconds": list(array("d", results.seconds.tobytes())),
        "bytes_read": list(array("q", results.bytes_read.tobytes())),
        "bytes_written": list(array("q", results.bytes_written.tobytes())),
        "calls": list(array("q", results.calls.tobytes())),
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
        "seconds": list(array("d", results.seconds.tobytes())),
        "requests": list(array("q", results.requests.tobytes())),
        "bytes_read": list(array("q", results.bytes_read.tobytes())),
        "bytes_written": list(array("q", results.bytes_written.tobytes())),
        "waited": [wait.seconds for wait in waits],
        "awaited": [wait.calls for wait in waits],
        "read_over_time": [read for read, _ in moved],
        "written_over_time": [written for _, written in moved],
    }
