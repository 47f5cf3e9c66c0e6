"""Finds the bandwidths of a disk in measured runs."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tisim.errors import InputError
from tisim.studies.calibration.disk.results import read_results
from tisim.studies.calibration.disk.runs import DIRECTIONS, DiskRun


@dataclass(frozen=True)
class DiskRate:
    """Runs in one direction with one size of calls.

    Attributes
    ----------
    direction
        ``read`` or ``write``.
    block
        Size of a call, such as ``1M``.
    bandwidth
        The median of the runs, bytes/s.
    spread
        The largest less the smallest, as a part of the median.
    runs
        How many.
    """

    direction: str
    block: str
    bandwidth: float
    spread: float
    runs: int


@dataclass(frozen=True)
class DiskCalibration:
    """The bandwidths of a disk.

    Attributes
    ----------
    read, write
        Bytes/s: the fastest size of calls.
    rates
        What was measured with each size.
    remarks
        What the user should know.
    """

    read: float
    write: float
    rates: Sequence[DiskRate]
    remarks: Sequence[str]

    def words(self, mount: str | None = None, size: str | None = None) -> str:
        """What ``tisim platform new --disk`` and the property ``tisim/disk`` take."""
        words = [f"read={self.read / 1e6:.5g}MBps", f"write={self.write / 1e6:.5g}MBps"]
        words += [f"mount={mount}"] if mount else []
        words += [f"size={size}"] if size else []
        return ",".join(words)


# Calls that no fsync waited for, of all: more of them are remarked on.
_MOST_BEHIND: Final = 0.02


def calibrate_disk(files: Sequence[str | os.PathLike[str]]) -> DiskCalibration:
    """Find the bandwidths of a disk.

    Parameters
    ----------
    files
        What fio has written, as JSON, and IOR, as JSON or as it prints.

    Raises
    ------
    InputError
        If a file is something else, or nothing has read or written alone.
    """
    runs = [(os.fspath(file), run) for file in files for run in read_results(file)]
    remarks = [
        f"{file}: the job {run.name!r} reads and writes at once; it is left out"
        for file, run in runs
        if run.mixed and run.direction == "read"
    ]
    remarks += [
        f"{file}: {run.name!r} {run.direction}s without direct I/O or an fsync, perhaps from or to "
        "memory"
        for file, run in runs
        if run.cached and not run.mixed
    ]
    remarks += [
        f"{file}: {run.name!r} may have left {run.behind:.0%} of its calls in memory, since fio "
        "calls fsync before the next write, and not after the last one; add --end_fsync=1"
        for file, run in runs
        if run.behind > _MOST_BEHIND and not run.cached
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
    """The medians by direction and size of calls, the fastest first."""
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
