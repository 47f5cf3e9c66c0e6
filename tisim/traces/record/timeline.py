"""When each call of a recorded run began and ended, on one clock."""

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
# Calls that stand in no line, such as a test that failed, between two that do.
_MOST_SKIPPED = 100_000


@dataclass(frozen=True)
class RecordedTimeline:
    """A timeline that was written."""

    path: Path
    #: The calls in it, of all ranks.
    calls: int
    #: The most that the clocks of two hosts may differ by in it, in seconds; 0 on one host.
    clock_error: float


def check_timeline(path: str | os.PathLike[str]) -> Path:
    """Refuse a file that no timeline can be written to. Raises InputError when its suffix names no
    format, and ModuleNotFoundError when pandas, or for Parquet pyarrow, is missing.
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
    """Write the timeline of a run from what its ranks have written.

    The columns of a table are ``rank``, ``function`` (of MPI), ``begin`` and ``end``, in seconds
    since the first call began. A run file has messages and wait states too. Clocks of other hosts
    than rank 0's are shifted, by what was measured when the program began and when it ended, and in
    between linearly. A run file needs the trace of the same run. The parts are the files
    ``rank-N.times``. Raises InputError when there are no times, or the file cannot be written.
    """
    import pandas as pd

    target = check_timeline(path)
    files = files_of_ranks(parts, ".times")
    if not files:
        raise InputError("no rank has written when its calls began and ended", file=parts)
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
    # Two hosts may be wrong by this in opposite directions.
    return RecordedTimeline(target, len(calls), 2e-9 * error)


def _calls_of_lines(trace: Trace, calls: pd.DataFrame) -> Iterator[tuple[int, MeasuredCalls]]:
    """The calls of each rank with the lines of the trace that came of them.

    A line states how long its call took, to the nanosecond: the next call that took so long is its.
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
                continue  # such as the last line, MPI_Finalize, which is not a call of the timeline
            lines.append(line)
            places.append(found)
            place = found + 1
        yield rank, MeasuredCalls.of_lines(np.array(lines, np.int64), begin[places], end[places])


def _aligned(file: Path) -> tuple[pd.DataFrame, float]:
    """A rank's calls in nanoseconds of rank 0's clock, and the error of that."""
    import numpy as np
    import pandas as pd

    text = file.read_bytes()
    text = text[: text.rfind(b"\n") + 1]  # a rank that was killed may have left half a line
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
