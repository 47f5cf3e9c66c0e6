"""When each call of an execution began and ended, as a table."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from tisim.analysis.measured import is_run_file, read_calls, write_measured_run
from tisim.support.files import write_file
from tisim.traces import Trace
from tisim.traces.script import name_of_instruction

# Start, end, line, kind, operation: a row of the files that the executor writes.
_ROW = struct.Struct("=ddIHH")
_ROWS_AT_ONCE = 4096


def write_timeline(directory: Path, trace: Trace, output: Path) -> None:
    """Write the calls of all ranks as CSV: ``rank,kind,start,end,line``, times in seconds.

    Where `output` is a run file, they are written as that.

    Raises
    ------
    InputError
        When it cannot be written.
    """
    if not is_run_file(output):
        write_file(output, _lines(directory, trace.ranks))
        return
    table = directory / "calls.csv"
    write_file(table, _lines(directory, trace.ranks))
    write_measured_run(trace, read_calls(table, trace.ranks), output)


def _lines(directory: Path, ranks: int) -> Iterator[str]:
    yield "rank,kind,start,end,line\n"
    for rank in range(ranks):
        with (directory / f"calls-{rank}").open("rb") as file:
            while data := file.read(_ROW.size * _ROWS_AT_ONCE):
                whole = data[: len(data) // _ROW.size * _ROW.size]
                for start, end, line, kind, operation in _ROW.iter_unpack(whole):
                    name = name_of_instruction(kind, operation)
                    yield f"{rank},{name},{start:.9f},{end:.9f},{line}\n"
