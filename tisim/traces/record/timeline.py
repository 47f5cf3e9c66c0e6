"""The begin and end of each call of a recorded run, on one clock."""

from __future__ import annotations

import io
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.analysis.measured import MeasuredCalls, write_measured_run
from tisim.analysis.timeline.run_file.schema import SUFFIX
from tisim.errors import InputError
from tisim.support.extras import check_installed
from tisim.support.files import replacing
from tisim.traces import Trace
from tisim.traces.recorded import files_of_ranks

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

_CLOCK = re.compile(rb"# clock (\d+) (-?\d+) (\d+)\n")
_SUFFIXES = (".csv", ".parquet", SUFFIX)
# Maximum number of calls without a line, such as failed tests, between two with lines.
_MOST_SKIPPED = 100_000


@dataclass(frozen=True)
class RecordedTimeline:
    """A written timeline."""

    path: Path
    #: Number of its calls, over all ranks.
    calls: int
    #: Maximum error between the clocks of two hosts, in seconds; 0 on one host.
    clock_error: float


def check_timeline(path: str | os.PathLike[str]) -> Path:
    """Refuse a file to which no timeline can be written. Raises InputError for an unknown suffix,
    and ModuleNotFoundError when pandas, or for Parquet pyarrow, is missing.
    """
    target = Path(path)
    if target.suffix not in _SUFFIXES:
        raise InputError(
            f"a recorded timeline cannot be written as {target.suffix or 'a file without suffix'};"
            f" choose {' or '.join(_SUFFIXES)}",
            file=target,
        )
    check_installed("pandas", *(["pyarrow"] if target.suffix != ".csv" else []))
    return target


def write_timeline(
    parts: Path, path: str | os.PathLike[str], trace: str | os.PathLike[str] | None = None
) -> RecordedTimeline:
    """Write the timeline of a run from its ranks' files.

    The columns of a table are ``rank``, ``function`` (of MPI), ``begin`` and ``end``, in seconds
    since the start of the first call. A run file also has messages and wait states, and needs the
    trace of the same run. Clocks of hosts other than rank 0's are shifted by the offsets measured
    at the start and the end of the program, interpolated linearly. The parts are the files
    ``rank-N.times``. Raises InputError when there are no times, or the file cannot be written.
    """
    import pandas as pd

    target = check_timeline(path)
    files = files_of_ranks(parts, ".times")
    if not files:
        raise InputError("no rank wrote the times of its calls", file=parts)
    tables: list[pd.DataFrame] = []
    error = 0.0
    for rank, file in files.items():
        table, of_rank = _aligned(file)
        table.insert(0, "rank", rank)
        tables.append(table)
        error = max(error, of_rank)
    calls = pd.concat(tables, ignore_index=True)
    start = calls["begin"].min() if len(calls) else 0
    for column in ("begin", "end"):
        calls[column] = (calls[column] - start) * 1e-9
    calls = calls[["rank", "function", "begin", "end"]]
    if target.suffix == SUFFIX:
        assert trace is not None
        opened = Trace.open(trace)
        write_measured_run(opened, _calls_of_lines(opened, calls), target)
        return RecordedTimeline(target, len(calls), 2e-9 * error)
    with replacing(target) as unfinished:
        if target.suffix == ".csv":
            calls.to_csv(unfinished, index=False, float_format="%.9f")
        else:
            calls.to_parquet(unfinished, index=False)
    # The clocks of two hosts may be off by this in opposite directions.
    return RecordedTimeline(target, len(calls), 2e-9 * error)


def _calls_of_lines(trace: Trace, calls: pd.DataFrame) -> Iterator[tuple[int, MeasuredCalls]]:
    """Yield the calls of each rank with the lines of the trace that they produced.

    A line gives its call's duration to the nanosecond: it belongs to the next call that long.
    """
    import numpy as np

    ranks = calls["rank"].to_numpy()
    for rank in range(trace.ranks):
        own = calls[ranks == rank]
        begin, end = own["begin"].to_numpy(), own["end"].to_numpy()
        took = np.rint((end - begin) * 1e9).astype(np.int64).tolist()
        lines: list[int] = []
        places: list[int] = []
        place = 0
        for line, attributes in trace.attributes_of(rank):
            duration = attributes.get("duration")
            if not isinstance(duration, int):
                continue
            try:
                found = took.index(duration, place, place + _MOST_SKIPPED)
            except ValueError:
                continue  # such as the last line, MPI_Finalize, which is not in the timeline
            lines.append(line)
            places.append(found)
            place = found + 1
        yield rank, MeasuredCalls.of_lines(np.array(lines, np.int64), begin[places], end[places])


def _aligned(file: Path) -> tuple[pd.DataFrame, float]:
    """Return a rank's calls in nanoseconds of rank 0's clock, and the error of this conversion."""
    import numpy as np
    import pandas as pd

    text = file.read_bytes()
    text = text[: text.rfind(b"\n") + 1]  # a killed rank may have left a partial line
    clocks = [[*map(int, match.groups())] for match in _CLOCK.finditer(text)]
    table = pd.read_csv(
        io.BytesIO(text),
        comment="#",
        dtype={"begin": "int64", "end": "int64", "function": "category"},
    )
    moments = [clock[0] for clock in clocks]
    offsets = [clock[1] for clock in clocks]
    if any(offsets):
        for name in ("begin", "end"):
            shift = np.interp(table[name], moments, offsets)
            table[name] = table[name] - shift.round().astype("int64")
    return table, max((clock[2] for clock in clocks), default=0)
