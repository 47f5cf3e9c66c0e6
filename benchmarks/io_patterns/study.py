"""Runs of each pattern, and their predictions."""

from __future__ import annotations

import os
import random
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks.io_patterns.machine import (
    JOBS,
    READ,
    bandwidths,
    measure_disk,
    platform,
    wait_for_calm,
)
from benchmarks.io_patterns.programs import MODES, PATTERNS, Checkpoints
from tisim import replay

# A prediction holds within this relative error, or within the spread of the runs.
_TOLERANCE = 0.15
_SEED = 1  # of the order of measurements
# The bandwidth of the link is measured with the same messages, so no factors apply.
_CONFIGURATION = {"network/bandwidth-factor": "1", "network/latency-factor": "1"}


@dataclass(frozen=True)
class Case:
    """A pattern in one mode.

    Attributes
    ----------
    pattern, mode
        One of `PATTERNS` and of `MODES`.
    predicted
        Predicted seconds.
    real
        Seconds of each run.
    """

    pattern: str
    mode: str
    predicted: float
    real: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median of the runs, in seconds."""
        return statistics.median(self.real)

    @property
    def error(self) -> float:
        """Relative error of the prediction."""
        return self.predicted / self.median - 1

    @property
    def spread(self) -> float:
        """Range of the runs, relative to the median."""
        return (max(self.real) - min(self.real)) / self.median

    @property
    def is_judged(self) -> bool:
        """True if the data are on the disk when a run ends."""
        return self.mode != "cached"

    @property
    def holds(self) -> bool:
        """True if the prediction is within its tolerance."""
        return abs(self.error) <= max(_TOLERANCE, self.spread)


@dataclass
class Study:
    """All measurements and predictions.

    Attributes
    ----------
    cases
        All patterns in all modes.
    rates
        Bytes/s measured by fio, by name of the job.
    memory
        Bytes/s of messages between ranks.
    idle, load
        Idle fraction of the processors, and load average, before each round.
    """

    cases: list[Case] = field(default_factory=list)
    rates: dict[str, list[float]] = field(default_factory=dict)
    memory: float = 0.0
    idle: list[float] = field(default_factory=list)
    load: list[float] = field(default_factory=list)


def studied(
    checkpoints: Checkpoints,
    rounds: int,
    patience: float,
    scratch: Path,
    tell: Callable[[str], object],
) -> Study:
    """Record each pattern, then measure in rounds, then predict from the medians.

    A round contains everything once: each measurement of the disk, the messages, and each pattern,
    in a newly drawn order. So slow changes, such as the load of the machine, affect the
    measurements behind predictions like the runs. One more measurement of the disk and the messages
    ends the study, so that each run is between two of them.

    Parameters
    ----------
    checkpoints
        Output of each run.
    rounds
        Number of rounds.
    patience
        Maximum seconds to wait for a calm moment before each measurement.
    scratch
        Directory for traces and results.
    tell
        Called with progress messages.

    Raises
    ------
    InputError
        If something is missing.
    subprocess.SubprocessError
        If a program fails.
    """
    cases = [(pattern, mode) for mode in MODES for pattern in PATTERNS]
    # These runs, and the first of fio, also create the files, which later ones overwrite.
    traces = {
        case: checkpoints.recorded(*case, scratch / f"{'-'.join(case)}.tit") for case in cases
    }
    for job in JOBS:
        measure_disk(job, checkpoints, scratch / "first.json")
    measured = _Measurements(checkpoints, scratch)
    study = Study()
    order = random.Random(_SEED)
    for number in range(rounds + 1):
        study.idle.append(wait_for_calm(patience))
        study.load.append(os.getloadavg()[0])
        steps = measured.calibrations(number)
        if number < rounds:
            steps += measured.runs(cases)
        order.shuffle(steps)
        for step in steps:
            os.sync()  # else this measurement waits for pages that another left in the page cache
            wait_for_calm(patience)
            step()
        tell(f"round {number + 1}: idle {study.idle[-1]:.0%}, load {study.load[-1]:.2f}")
    study.rates = {job: bandwidths(files) for job, files in measured.results.items()}
    moved = checkpoints.nbytes * (checkpoints.ranks - 1) / checkpoints.ranks
    study.memory = moved / statistics.median(measured.gathered)
    for case in cases:
        predicted = _predicted(case, traces[case], measured, study.memory)
        study.cases.append(Case(*case, predicted, tuple(measured.real[case])))
    return study


class _Measurements:
    """The measurements so far, and those of the next round."""

    def __init__(self, checkpoints: Checkpoints, scratch: Path) -> None:
        self.checkpoints = checkpoints
        self._scratch = scratch
        self.real: dict[tuple[str, str], list[float]] = {}
        self.results: dict[str, list[Path]] = {}
        self.gathered: list[float] = []

    def calibrations(self, number: int) -> list[Callable[[], None]]:
        """Return the measurements of the disk and of messages in a round."""
        return [*(partial(self._measure, job, number) for job in JOBS), self._gather]

    def runs(self, cases: Iterable[tuple[str, str]]) -> list[Callable[[], None]]:
        """Return a run of each pattern in each mode."""
        return [partial(self._run, case) for case in cases]

    def _measure(self, job: str, number: int) -> None:
        for checkpoint in range(self.checkpoints.count):
            result = self._scratch / f"{job}-{number}-{checkpoint}.json"
            self.results.setdefault(job, []).append(measure_disk(job, self.checkpoints, result))

    def _gather(self) -> None:
        self.gathered.append(self.checkpoints.seconds("gather", "cached"))

    def _run(self, case: tuple[str, str]) -> None:
        self.real.setdefault(case, []).append(self.checkpoints.seconds(*case))


def _predicted(case: tuple[str, str], trace: Path, measured: _Measurements, memory: float) -> float:
    """Return the simulated seconds of a recorded run, with fio's disk rates for its pattern."""
    pattern, mode = case
    written = f"{'direct' if mode == 'direct' else 'fsync'}-{pattern}"
    checkpoints = measured.checkpoints
    machine = platform(
        [*measured.results[written], *measured.results[READ]],
        memory,
        checkpoints.ranks,
        checkpoints.directory,
    )
    hosts = ["node"] * checkpoints.ranks
    return replay(trace, platform=machine, hosts=hosts, config=_CONFIGURATION).simulated_time
