"""What the ranks of a job did with files."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from tisim._core import Simulation


class IoDict(TypedDict):
    """What ranks did with files, one number a rank."""

    seconds: list[float]
    bytes_read: list[int]
    bytes_written: list[int]
    calls: list[int]


def file_sums(core: Simulation, job: int) -> IoDict | None:
    """What the ranks of a job did with files; None if they called nothing.

    Returns
    -------
    IoDict
        `seconds` in reads and writes, bytes, and how many calls on files.
    """
    results = core.file_results(job)
    if results is None:
        return None
    return {
        "seconds": list(array("d", results.seconds.tobytes())),
        "bytes_read": list(array("q", results.bytes_read.tobytes())),
        "bytes_written": list(array("q", results.bytes_written.tobytes())),
        "calls": list(array("q", results.calls.tobytes())),
    }
