"""Bandwidths of a disk from measurements.

`fio_runs` and `ior_runs` read the output of these programs, `calibrate_disk` finds the bandwidths.
"""

from __future__ import annotations

import json
import os
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tisim.errors import InputError
from tisim.support.reading import read_input

#: The directions of a disk, in the words of fio and IOR.
DIRECTIONS: Final = ("read", "write")


@dataclass(frozen=True)
class DiskRun:
    """Joint rate of concurrent jobs."""

    direction: str  # one of `DIRECTIONS`
    bandwidth: float  # of all jobs together, in bytes/s
    block: str  # size of a call, as configured, such as ``1M``; empty if not configured
    jobs: int  # number of jobs
    mixed: bool  # whether they also accessed in the other direction
    cached: bool  # whether the bytes may have been in the page cache
    name: str  # of the first job
    # Upper bound of the fraction of calls without a following fsync, if only some have one.
    unsynced_fraction: float = 0.0


class FailedRunError(Exception):
    """A program reports that a measurement has failed."""


def as_mapping(value: object) -> Mapping[str, object]:
    """Return a JSON object; raises `TypeError` if the value is not one."""
    if not isinstance(value, Mapping):
        raise TypeError
    return value


def as_sequence(value: object) -> Sequence[object]:
    """Return a JSON list; raises `TypeError` if the value is not one."""
    if not isinstance(value, list):
        raise TypeError
    return value


# Options of a job, unless they are 0, that ensure its bytes are on the disk when it ends.
_SYNC_OPTIONS: Final = ("direct", "sync", "fsync", "fdatasync", "end_fsync", "fsync_on_close")
# Options that do not cover the last writes.
_PERIODIC_SYNCS: Final = ("fsync", "fdatasync")


def fio_runs(found: Mapping[str, object]) -> list[DiskRun]:
    """Return the runs in the output of ``fio --output-format=json``.

    Jobs of one group ran concurrently; a job with ``stonewall`` begins another group. Raises
    `FailedRunError` if a job has failed, `ValueError` or `TypeError` or `KeyError` for other
    content.
    """
    options = as_mapping(found.get("global options", {}))
    groups: dict[object, list[Mapping[str, object]]] = {}
    for job in map(as_mapping, as_sequence(found["jobs"])):
        if job.get("error", 0):
            raise FailedRunError(
                f"the job {job.get('jobname', '')!r} has failed (error {job['error']})"
            )
        groups.setdefault(job.get("groupid", 0), []).append(job)
    return [run for jobs in groups.values() for run in _runs_of_group(jobs, options)]


def _runs_of_group(
    jobs: Sequence[Mapping[str, object]], options: Mapping[str, object]
) -> list[DiskRun]:
    """Return the accesses of the jobs of one group."""
    job_options = [{**options, **as_mapping(job.get("job options", {}))} for job in jobs]
    moved = {
        direction: (
            sum(_total(job, direction, "io_bytes") for job in jobs),
            max(_total(job, direction, "runtime") for job in jobs) / 1e3,
        )
        for direction in DIRECTIONS
    }
    return [
        DiskRun(
            direction,
            nbytes / seconds,
            str(job_options[0].get("bs", job_options[0].get("blocksize", ""))),
            len(jobs),
            all(other[0] > 0 for other in moved.values()),
            not all(any(_is_on(job.get(name)) for name in _SYNC_OPTIONS) for job in job_options),
            str(jobs[0].get("jobname", "")),
            max(map(_unsynced_fraction, jobs, job_options)) if direction == "write" else 0.0,
        )
        for direction, (nbytes, seconds) in moved.items()
        if nbytes > 0 and seconds > 0
    ]


def _unsynced_fraction(job: Mapping[str, object], job_options: Mapping[str, object]) -> float:
    """Return the fraction of a job's writes that may follow its last fsync.

    With `fsync=N` or `fdatasync=N`, fio syncs after N writes only when another write follows.
    """
    if any(_is_on(job_options.get(name)) for name in _SYNC_OPTIONS if name not in _PERIODIC_SYNCS):
        return 0.0
    every = [
        int(str(job_options[name])) for name in _PERIODIC_SYNCS if _is_on(job_options.get(name))
    ]
    calls = as_mapping(job["write"]).get("total_ios", 0)
    if not every or not isinstance(calls, int) or calls == 0:
        return 0.0
    return min(min(every) * int(str(job_options.get("numjobs", 1))) / calls, 1.0)


def _is_on(value: object) -> bool:
    return value is not None and str(value) != "0"


def _total(job: Mapping[str, object], direction: str, name: str) -> float:
    value = as_mapping(job[direction])[name]
    if not isinstance(value, int | float):
        raise TypeError
    return float(value)


_MIB, _KIB = 1 << 20, 1 << 10
# Command-line options that ensure bytes are on the disk: bypassing the page cache, for reads and
# writes, or by fsync, for writes.
_DIRECT = re.compile(r"\s(-B|--posix\.odirect)\b")
_SYNCHRONISED = re.compile(r"\s-(?!-)\w*[eY]\b")
# Lines above each test with its name and its number of processes.
_OPTION = re.compile(r"^(test filename|tasks|Command line)(?: used)?\s*:\s*(.*?)\s*$")
_HEADER = ("access", "bw(MiB/s)")


def ior_runs(found: Mapping[str, object]) -> list[DiskRun]:
    """Return the runs in IOR's JSON; repetitions are separate runs.

    Raises `ValueError` or `TypeError` or `KeyError` for other content.
    """
    command = str(found.get("Command line", ""))
    return [
        run
        for test in map(as_mapping, as_sequence(found["tests"]))
        for run in _runs_of_test(test, command)
    ]


def _runs_of_test(test: Mapping[str, object], command: str) -> Iterator[DiskRun]:
    parameters = as_mapping(test.get("Parameters", {}))
    options = as_mapping(test.get("Options", {}))
    synchronised = any(_number(parameters.get(key, 0)) for key in ("fsync", "fsyncperwrite"))
    for row in _flat(test["Results"]):
        access = str(row["access"])
        if access in DIRECTIONS:
            yield _run(
                access,
                _number(row["bwMiB"]),
                _number(row["xferKiB"]),
                int(_number(options.get("tasks", 1))),
                _is_cached(access, command, synchronised=synchronised),
                str(parameters.get("testFileName", "IOR")),
            )


def _flat(value: object) -> Iterator[Mapping[str, object]]:
    """Yield the results, which IOR 3 puts into a list per repetition."""
    for entry in as_sequence(value):
        if isinstance(entry, list):
            yield from _flat(entry)
        else:
            yield as_mapping(entry)


def is_ior_text(text: str) -> bool:
    """Return whether a text was printed by IOR."""
    return any(line.startswith("IOR-") for line in text.splitlines()[:50])


def ior_text_runs(text: str) -> list[DiskRun]:
    """Return the runs in IOR's printed output; raises `ValueError` if a table row is cut."""
    runs = []
    known = {"test filename": "IOR", "tasks": "1"}
    columns: Sequence[str] = ()
    for line in text.splitlines():
        option = _OPTION.match(line)
        words = line.split()
        if option is not None:
            known[option[1]] = option[2]
            columns = ()
        elif tuple(words[: len(_HEADER)]) == _HEADER:
            columns = words
        elif columns and words and words[0] in DIRECTIONS:
            row = dict(zip(columns, words, strict=True))
            runs.append(
                _run(
                    words[0],
                    float(row["bw(MiB/s)"]),
                    float(row["xfer(KiB)"]),
                    int(known["tasks"]),
                    _is_cached(words[0], f" {known.get('Command line', '')} "),
                    known["test filename"],
                )
            )
        elif columns and not words:
            columns = ()
    return runs


def _run(access: str, mib: float, xfer_kib: float, tasks: int, cached: bool, name: str) -> DiskRun:
    return DiskRun(access, mib * _MIB, _size(xfer_kib), tasks, False, cached, name)


def _is_cached(access: str, command: str, *, synchronised: bool = False) -> bool:
    if _DIRECT.search(command):
        return False
    return access == "read" or not (synchronised or _SYNCHRONISED.search(command))


def _size(kib: float) -> str:
    """Format the size of a call as fio does."""
    for unit, scale in (("M", _KIB), ("K", 1)):
        if kib >= scale and kib % scale == 0:
            return f"{kib / scale:g}{unit}"
    return f"{kib * _KIB:g}"


def _number(value: object) -> float:
    if not isinstance(value, int | float | str):
        raise TypeError
    return float(value)


def read_results(path: str | os.PathLike[str]) -> list[DiskRun]:
    """Return the runs in a file: JSON of fio, JSON of IOR, or printed output of IOR.

    Raises `InputError` for other content, or if a run has failed.
    """
    text = read_input(path, "it").decode("utf-8", "replace")
    try:
        runs = _runs_of_text(text)
    except FailedRunError as error:
        raise InputError(str(error), file=path) from None
    except (ValueError, TypeError, KeyError, ArithmeticError, RecursionError):
        runs = []
    if not runs:
        raise InputError(
            "contains no results of fio or IOR; write them with: fio --output-format=json "
            "--output=FILE ..., or ior -e -O summaryFormat=JSON -O summaryFile=FILE ..., or save "
            "the output of ior",
            file=path,
        )
    return runs


def _runs_of_text(text: str) -> list[DiskRun]:
    if is_ior_text(text):
        return ior_text_runs(text)
    # fio may write warnings before the JSON.
    found = as_mapping(json.loads(text[max(text.find("{"), 0) :]))
    return fio_runs(found) if "jobs" in found else ior_runs(found)


@dataclass(frozen=True)
class DiskRate:
    """Runs in one direction with one call size."""

    direction: str  # ``read`` or ``write``
    block: str  # size of a call, such as ``1M``
    bandwidth: float  # the median of the runs, bytes/s
    spread: float  # range of the runs relative to the median
    runs: int  # number of runs


@dataclass(frozen=True)
class DiskCalibration:
    """Bandwidths of a disk."""

    # read, write: bytes/s with the fastest call size
    read: float
    write: float
    rates: Sequence[DiskRate]  # measurements for each call size
    remarks: Sequence[str]  # information for the user

    def words(self, mount: str | None = None, size: str | None = None) -> str:
        """Return the value for ``tisim platform new --disk`` and the property ``tisim/disk``."""
        words = [f"read={self.read / 1e6:.5g}MBps", f"write={self.write / 1e6:.5g}MBps"]
        words += [f"mount={mount}"] if mount else []
        words += [f"size={size}"] if size else []
        return ",".join(words)


# Maximum fraction of calls without a following fsync that is accepted without a remark.
_MAX_UNSYNCED_FRACTION: Final = 0.02


def calibrate_disk(files: Sequence[str | os.PathLike[str]]) -> DiskCalibration:
    """Compute the bandwidths of a disk.

    `files` are output of fio, as JSON, and IOR, as JSON or printed. Raises `InputError` for other
    content, or if reads or writes were not measured alone.
    """
    runs = [(os.fspath(file), run) for file in files for run in read_results(file)]
    remarks = [
        f"{file}: the job {run.name!r} reads and writes at the same time; it is left out"
        for file, run in runs
        if run.mixed and run.direction == "read"
    ]
    remarks += [
        f"{file}: {run.name!r} {run.direction}s without direct I/O or an fsync, so possibly from "
        "or to memory"
        for file, run in runs
        if run.cached and not run.mixed
    ]
    remarks += [
        f"{file}: {run.name!r} may have left {run.unsynced_fraction:.0%} of its calls in memory, "
        "because fio calls fsync before the next write but not after the last; add --end_fsync=1"
        for file, run in runs
        if run.unsynced_fraction > _MAX_UNSYNCED_FRACTION and not run.cached
    ]
    rates = _rates([run for _, run in runs if not run.mixed])
    best = {
        direction: max((r.bandwidth for r in rates if r.direction == direction), default=0.0)
        for direction in DIRECTIONS
    }
    missing = [direction for direction in DIRECTIONS if not best[direction]]
    if missing:
        raise InputError(
            f"no job only {' and none only '.join(f'{word}s' for word in missing)}; measure both: "
            "fio --rw=read and fio --rw=write, or ior -w -r"
        )
    return DiskCalibration(best["read"], best["write"], rates, remarks)


def _rates(runs: Sequence[DiskRun]) -> list[DiskRate]:
    """Return the medians by direction and call size, fastest first."""
    measured: dict[tuple[str, str], list[float]] = {}
    for run in runs:
        measured.setdefault((run.direction, run.block), []).append(run.bandwidth)
    rates = [
        DiskRate(
            *key,
            statistics.median(values),
            (max(values) - min(values)) / statistics.median(values),
            len(values),
        )
        for key, values in measured.items()
    ]
    return sorted(rates, key=lambda rate: (rate.direction, -rate.bandwidth))
