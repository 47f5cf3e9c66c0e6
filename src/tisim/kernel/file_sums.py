"""What the ranks of a job did with files."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NotRequired, TypedDict

if TYPE_CHECKING:
    from tisim._core import Simulation


class ServersDict(TypedDict):
    """What the servers of a file system were asked for; the last one is that of metadata.

    `seconds` are those from the arrival of each request to its reply, added up.
    """

    hosts: list[str]
    seconds: list[float]
    requests: list[int]
    bytes_read: list[int]
    bytes_written: list[int]


class IoDict(TypedDict):
    """What ranks did with files, one number a rank; and file systems on servers, by name."""

    file_systems: NotRequired[dict[str, ServersDict]]
    seconds: list[float]
    bytes_read: list[int]
    bytes_written: list[int]
    calls: list[int]


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
    }
    asked = {
        name: _server_sums(core, index, hosts)
        for index, (name, hosts) in enumerate(servers.items())
    }
    asked = {name: sums for name, sums in asked.items() if any(sums["requests"])}
    if asked:
        sums["file_systems"] = asked
    return sums


def _server_sums(core: Simulation, file_system: int, hosts: Sequence[str]) -> ServersDict:
    results = core.server_results(file_system)
    return {
        "hosts": list(hosts),
        "seconds": list(array("d", results.seconds.tobytes())),
        "requests": list(array("q", results.requests.tobytes())),
        "bytes_read": list(array("q", results.bytes_read.tobytes())),
        "bytes_written": list(array("q", results.bytes_written.tobytes())),
    }
