"""Recording a program several times, to see how much its counters differ from run to run."""

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
    """The runs of a program that was recorded several times."""

    #: The run whose trace was kept: the one whose sum of volumes is the median, or the one that
    #: failed.
    kept: Recorded
    #: Which run that is, from 1.
    number: int
    #: How many there were: fewer than asked for, if one failed.
    runs: int
    #: How much what the counters have counted differs between the runs; empty if one failed.
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

    No more runs are made after one that fails. Raises InputError when the program cannot be
    recorded, when no rank has called ``MPI_Init``, or when a timeline is asked for, which is that
    of one run.
    """
    if settings is not None and settings.timeline is not None:
        raise InputError(
            "a timeline is that of one run: --timeline and --repeat exclude each other"
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
        if found and not found[0].is_none:
            keep_spread(runs[number].output, found[0])
        runs[number].output.replace(output)
    return Repeated(replace(runs[number], output=output), number + 1, len(runs), found)
