"""Runs of each pattern, and what is predicted for them."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.io_patterns.machine import JOBS, bandwidths, measure_disk, platform, wait_for_calm
from benchmarks.io_patterns.programs import MODES, PATTERNS, Checkpoints
from tisim import replay

# A prediction holds within this part of the median, or within the spread of the runs.
_TOLERANCE = 0.15
# Bytes move at the bandwidth of the link, which is measured with the same messages.
_CONFIGURATION = {"network/bandwidth-factor": "1", "network/latency-factor": "1"}


@dataclass(frozen=True)
class Case:
    """A pattern in one mode.

    Attributes
    ----------
    pattern, mode
        Of `PATTERNS` and `MODES`.
    predicted
        Seconds.
    real
        Seconds of each run.
    """

    pattern: str
    mode: str
    predicted: float
    real: tuple[float, ...]

    @property
    def median(self) -> float:
        """Of the runs, in seconds."""
        return statistics.median(self.real)

    @property
    def error(self) -> float:
        """The prediction over the median, less one."""
        return self.predicted / self.median - 1

    @property
    def spread(self) -> float:
        """The longest run less the shortest, as a part of the median."""
        return (max(self.real) - min(self.real)) / self.median

    @property
    def is_judged(self) -> bool:
        """Whether the data are on the disk when a run ends."""
        return self.mode != "cached"

    @property
    def holds(self) -> bool:
        """Whether the prediction is as good as it should be."""
        return abs(self.error) <= max(_TOLERANCE, self.spread)


@dataclass
class Study:
    """Everything that was measured and predicted.

    Attributes
    ----------
    cases
        All patterns in all modes.
    rates
        Bytes/s that fio has measured, by the name of the job.
    memory
        Bytes/s of messages between ranks.
    idle, load
        The idle part of the processors, and the load average, before each round.
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
    """Measure in rounds, each of which has the disk, the messages and all patterns once.

    Parameters
    ----------
    checkpoints
        What each run writes.
    rounds
        How many.
    patience
        Seconds to wait for a calm moment, before each measurement.
    scratch
        For traces and results.
    tell
        Is told what goes on.

    Raises
    ------
    InputError
        When something is missing.
    subprocess.SubprocessError
        When a program fails.
    """
    study = Study()
    cases = [(pattern, mode) for mode in MODES for pattern in PATTERNS]
    traces = {}
    for pattern, mode in cases:  # these runs also make the files, which later ones overwrite
        traces[pattern, mode] = checkpoints.recorded(
            pattern, mode, scratch / f"{pattern}-{mode}.tit"
        )
    real: dict[tuple[str, str], list[float]] = {case: [] for case in cases}
    results: dict[str, list[Path]] = {}
    gathered = []
    for number in range(rounds):
        study.idle.append(wait_for_calm(patience))
        study.load.append(os.getloadavg()[0])
        for job in JOBS:
            result = scratch / f"{job}-{number}.json"
            results.setdefault(job, []).append(measure_disk(job, checkpoints, result))
        gathered.append(checkpoints.seconds("gather", "cached"))
        for case in cases:
            wait_for_calm(patience)
            real[case].append(checkpoints.seconds(*case))
        tell(f"round {number + 1}: idle {study.idle[-1]:.0%}, load {study.load[-1]:.2f}")
    study.rates = {job: bandwidths(files) for job, files in results.items()}
    moved = checkpoints.nbytes * (checkpoints.ranks - 1) / checkpoints.ranks
    study.memory = moved / statistics.median(gathered)
    for pattern, mode in cases:
        write = "direct-write" if mode == "direct" else "fsync-write"
        write += "-alone" if pattern == "serial" else ""
        machine = platform(
            [*results[write], *results["direct-read"]],
            study.memory,
            checkpoints.ranks,
            checkpoints.directory,
        )
        predicted = replay(
            traces[pattern, mode],
            platform=machine,
            hosts=["node"] * checkpoints.ranks,
            config=_CONFIGURATION,
        )
        study.cases.append(
            Case(pattern, mode, predicted.simulated_time, tuple(real[pattern, mode]))
        )
    return study
