"""Repeated recording of a program, to measure how its counters vary from run to run."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tisim.errors import InputError
from tisim.support.files import check_writable
from tisim.traces.record.recorder import Recorded, record
from tisim.traces.record.settings import Settings
from tisim.traces.spread import Spread, keep_spread, spreads
from tisim.traces.trace import Trace


@dataclass(frozen=True)
class Repeated:
    """The runs of a repeatedly recorded program."""

    #: The run whose trace was kept: the one with the median sum of volumes, or the one that failed.
    kept: Recorded
    #: The number of that run, from 1.
    number: int
    #: Number of runs: fewer than requested if one failed.
    runs: int
    #: Variation of the counters between the runs; empty if one failed.
    spreads: tuple[Spread, ...]


def record_repeatedly(
    command: Sequence[str],
    output: str | os.PathLike[str],
    settings: Settings | None = None,
    *,
    times: int,
    compiler: str | None = None,
) -> Repeated:
    """Record a program several times, and keep the trace of one run.

    Stops after a failed run. Raises InputError when the program cannot be recorded, when no rank
    called ``MPI_Init``, or when a timeline is requested, which would be that of one run.
    """
    if settings is not None and settings.timeline is not None:
        raise InputError(
            "a timeline shows a single run: --timeline and --repeat cannot be combined"
        )
    output = Path(output)
    check_writable(output)
    runs: list[Recorded] = []
    beside = output.absolute().parent
    with tempfile.TemporaryDirectory(prefix=f"{output.name}.runs-", dir=beside) as scratch:
        while len(runs) < times and not (runs and runs[-1].status):
            trace = Path(scratch, f"{len(runs)}.tit")
            runs.append(record(command, trace, settings, compiler=compiler))
        found: tuple[Spread, ...] = ()
        number = len(runs) - 1
        if not runs[-1].status:
            found = spreads([Trace.open(run.output) for run in runs])
            number = found[0].median_run
        if found and not found[0].has_equal_counts:
            keep_spread(runs[number].output, found[0])
        runs[number].output.replace(output)
    return Repeated(replace(runs[number], output=output), number + 1, len(runs), found)
