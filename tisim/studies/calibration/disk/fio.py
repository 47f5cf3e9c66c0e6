"""Reads the JSON of fio, the flexible I/O tester."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tisim.studies.calibration.disk.runs import (
    DIRECTIONS,
    DiskRun,
    FailedRunError,
    as_mapping,
    as_sequence,
)

# Options of a job with which its bytes are on the disk when it ends, unless they are 0.
_TO_THE_DISK: Final = ("direct", "sync", "fsync", "fdatasync", "end_fsync", "fsync_on_close")

# With these, what is written last is not.
_NOW_AND_THEN: Final = ("fsync", "fdatasync")


def fio_runs(found: Mapping[str, object]) -> list[DiskRun]:
    """The runs in what ``fio --output-format=json`` has written.

    Jobs of one group ran side by side; a job with ``stonewall`` begins another group.

    Parameters
    ----------
    found
        The JSON.

    Raises
    ------
    FailedRunError
        If a job has failed.
    ValueError, TypeError, KeyError
        If it is something else.
    """
    options = as_mapping(found.get("global options", {}))
    groups: dict[object, list[Mapping[str, object]]] = {}
    for job in map(as_mapping, as_sequence(found["jobs"])):
        if job.get("error", 0):
            raise FailedRunError(
                f"the job {job.get('jobname', '')!r} has failed (error {job['error']})"
            )
        groups.setdefault(job.get("groupid", 0), []).append(job)
    return [run for jobs in groups.values() for run in _runs(jobs, options)]


def _runs(jobs: Sequence[Mapping[str, object]], options: Mapping[str, object]) -> list[DiskRun]:
    """What the jobs of one group did."""
    told = [{**options, **as_mapping(job.get("job options", {}))} for job in jobs]
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
            max(map(_behind, jobs, told)) if direction == "write" else 0.0,
        )
        for direction, (nbytes, seconds) in moved.items()
        if nbytes > 0 and seconds > 0
    ]


def _behind(job: Mapping[str, object], told: Mapping[str, object]) -> float:
    """The part of the writes of a job that may be behind its last fsync.

    With `fsync` or `fdatasync` fio calls one before each so-many-th further write.
    """
    if any(_is_on(told.get(name)) for name in _TO_THE_DISK if name not in _NOW_AND_THEN):
        return 0.0
    every = [int(str(told[name])) for name in _NOW_AND_THEN if _is_on(told.get(name))]
    calls = as_mapping(job["write"]).get("total_ios", 0)
    if not every or not isinstance(calls, int) or calls == 0:
        return 0.0
    return min(min(every) * int(str(told.get("numjobs", 1))) / calls, 1.0)


def _is_on(value: object) -> bool:
    return value is not None and str(value) != "0"


def _number(job: Mapping[str, object], direction: str, name: str) -> float:
    value = as_mapping(job[direction])[name]
    if not isinstance(value, int | float):
        raise TypeError
    return float(value)
