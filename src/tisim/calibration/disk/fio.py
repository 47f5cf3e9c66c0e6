"""Reads the JSON of fio, the flexible I/O tester."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tisim.errors import InputError

#: What a disk does, in fio's words.
DIRECTIONS: Final = ("read", "write")
# Options of a job with which its bytes are on the disk when it ends, unless they are 0.
_TO_THE_DISK: Final = ("direct", "sync", "fsync", "fdatasync", "end_fsync", "fsync_on_close")


@dataclass(frozen=True)
class DiskRun:
    """What jobs that ran side by side read, or wrote, together.

    Attributes
    ----------
    direction
        One of `DIRECTIONS`.
    bandwidth
        Of all jobs together, in bytes/s.
    block
        Size of a call, as fio was told; empty: it was not.
    jobs
        How many ran.
    mixed
        Whether they also did the other.
    cached
        Whether the bytes may have been in the page cache.
    name
        Of the first job.
    """

    direction: str
    bandwidth: float
    block: str
    jobs: int
    mixed: bool
    cached: bool
    name: str


def read_fio(path: str | os.PathLike[str]) -> list[DiskRun]:
    """The runs in a file that ``fio --output-format=json`` has written.

    Jobs of one group ran side by side; a job with ``stonewall`` begins another group.

    Raises
    ------
    InputError
        If the file is something else, or a job has failed.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read it: {error.strerror}", file=path) from None
    except UnicodeDecodeError:
        text = ""
    try:
        # fio may write warnings above the JSON.
        found = json.loads(text[max(text.find("{"), 0) :])
        options = found.get("global options", {})
        groups: dict[int, list[Mapping[str, object]]] = {}
        for job in found["jobs"]:
            if job.get("error", 0):
                raise InputError(
                    f"the job {job.get('jobname', '')!r} has failed (error {job['error']})",
                    file=path,
                )
            groups.setdefault(int(job.get("groupid", 0)), []).append(job)
        return [run for jobs in groups.values() for run in _runs(jobs, options)]
    except (ValueError, TypeError, KeyError, AttributeError):
        raise InputError(
            "is no result of fio; write one with: fio --output-format=json --output=FILE ...",
            file=path,
        ) from None


def _runs(jobs: Sequence[Mapping[str, object]], options: Mapping[str, object]) -> list[DiskRun]:
    """What the jobs of one group did."""
    told = [{**options, **_dict(job.get("job options", {}))} for job in jobs]
    moved = {
        direction: (
            sum(_number(job, direction, "io_bytes") for job in jobs),
            max(_number(job, direction, "runtime") for job in jobs) / 1e3,
        )
        for direction in DIRECTIONS
    }
    return [
        DiskRun(
            direction,
            nbytes / seconds,
            str(told[0].get("bs", told[0].get("blocksize", ""))),
            len(jobs),
            all(other[0] > 0 for other in moved.values()),
            not all(any(_is_on(job.get(name)) for name in _TO_THE_DISK) for job in told),
            str(jobs[0].get("jobname", "")),
        )
        for direction, (nbytes, seconds) in moved.items()
        if nbytes > 0 and seconds > 0
    ]


def _is_on(value: object) -> bool:
    return value is not None and str(value) != "0"


def _dict(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise TypeError
    return value


def _number(job: Mapping[str, object], direction: str, name: str) -> float:
    value = _dict(job[direction])[name]
    if not isinstance(value, int | float):
        raise TypeError
    return float(value)
