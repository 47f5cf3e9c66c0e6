"""When each call of an execution began and ended, as a table."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from tisim.files import write_file
from tisim.formats.script import name_of_instruction

# Start, end, line, kind, operation: a row of the files that the executor writes.
_ROW = struct.Struct("=ddIHH")
_ROWS_AT_ONCE = 4096


def write_timeline(directory: Path, ranks: int, output: Path) -> None:
    """Write the calls of all ranks as CSV: ``rank,kind,start,end,line``, times in seconds.

    Raises
    ------
    InputError
        When it cannot be written.
    """
    write_file(output, _lines(directory, ranks))


def _lines(directory: Path, ranks: int) -> Iterator[str]:
    yield "rank,kind,start,end,line\n"
    for rank in range(ranks):
        with (directory / f"calls-{rank}").open("rb") as file:
            while data := file.read(_ROW.size * _ROWS_AT_ONCE):
                whole = data[: len(data) // _ROW.size * _ROW.size]
                for start, end, line, kind, operation in _ROW.iter_unpack(whole):
                    name = name_of_instruction(kind, operation)
                    yield f"{rank},{name},{start:.9f},{end:.9f},{line}\n"
