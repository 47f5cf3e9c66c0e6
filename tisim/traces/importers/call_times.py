"""When each call of an imported trace began and ended."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from tisim.errors import InputError
from tisim.support.files import replacing, write_file
from tisim.traces.importers.words import kind_of

PARQUET = ".parquet"
_COLUMNS = ("rank", "kind", "start", "end", "line")
# Rows of a block of Parquet.
_BLOCK = 1 << 17


class CallTimes:
    """Keeps the times of calls in a temporary file: the first one is known in the end only."""

    def __init__(self) -> None:
        import tempfile  # replays can do without it

        self._file = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - see close
        self._first: int | None = None
        # The rank whose call came last, and when that ended.
        self._last = (-1, 0)

    def close(self) -> None:
        """Remove the temporary file."""
        self._file.close()

    def add(self, rank: int, function: str, begin: int, end: int, line: int) -> None:
        """Keep a call.

        Parameters
        ----------
        rank
            The rank, whose calls come in their order.
        function
            The name of the call in MPI, without ``MPI_``, or a word of a trace.
        begin, end
            Nanoseconds on a clock of all ranks.
        line
            The last line of the rank's trace that came of the call.
        """
        if self._first is None or begin < self._first:
            self._first = begin
        before, ended = self._last
        if before == rank and begin > ended:
            self._file.write(f"{rank},compute,{ended},{begin},{max(line - 1, 0)}\n")
        self._file.write(f"{rank},{kind_of(function)},{begin},{end},{line}\n")
        self._last = rank, end

    def write(self, target: str | os.PathLike[str]) -> None:
        """Write the table: ``rank,kind,start,end,line``, in seconds since the first call began.

        Raises
        ------
        InputError
            When it cannot be written.
        """
        if Path(target).suffix == PARQUET:
            self._write_parquet(target)
        else:
            write_file(target, self._lines())

    def _lines(self) -> Iterator[str]:
        yield ",".join(_COLUMNS) + "\n"
        for rank, kind, start, end, line in self._rows():
            yield f"{rank},{kind},{start:.9f},{end:.9f},{line}\n"

    def _rows(self) -> Iterator[tuple[int, str, float, float, int]]:
        first = self._first or 0
        self._file.seek(0)
        for row in self._file:
            rank, kind, begin, end, line = row.split(",")
            start, finish = ((int(time) - first) * 1e-9 for time in (begin, end))
            yield int(rank), kind, start, finish, int(line)

    def _write_parquet(self, target: str | os.PathLike[str]) -> None:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter

        types = (pa.int32(), pa.string(), pa.float64(), pa.float64(), pa.int64())
        schema = pa.schema(list(zip(_COLUMNS, types, strict=True)))
        rows = self._rows()
        with replacing(target) as unfinished, ParquetWriter(unfinished, schema) as writer:
            while block := list(islice(rows, _BLOCK)):
                columns = zip(*block, strict=True)
                made = [pa.array(col, kind) for col, kind in zip(columns, types, strict=True)]
                writer.write_table(pa.Table.from_arrays(made, schema=schema))


def check_timeline(target: str | os.PathLike[str]) -> None:
    """Refuse a file of another kind, or one whose package is not installed.

    Raises
    ------
    InputError
        With what to do.
    """
    suffix = Path(target).suffix
    if suffix not in (".csv", PARQUET):
        raise InputError(f"the timeline of an import is written as .csv or {PARQUET}", file=target)
    if suffix == PARQUET:
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise InputError(
                "Parquet needs one more package: pip install 'tisim[parquet]', or name a .csv file",
                file=target,
            ) from None
