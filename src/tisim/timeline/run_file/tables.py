"""Tables of a run file while they are written: blocks of rows, in Parquet."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tisim import _core
from tisim.files import OutputFile
from tisim.timeline.arrow import arrow_array
from tisim.timeline.run_file.schema import BLOCK, COLUMNS, PATH_COLUMNS

if TYPE_CHECKING:
    from pathlib import Path
    from typing import IO

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyarrow.parquet import ParquetWriter

# Times hardly ever repeat: a dictionary of them costs time and saves no room, and so does
# compressing them.
_DISTINCT = frozenset({"start", "end", "posted", "received", "started", "arrived"})
# A dictionary of these is smaller than what compression leaves of them. Other numbers have four
# bytes in Parquet, and are compressed in two thirds of the time without one.
_REPEATING = frozenset({"bytes", "volume"})
# The lines of a rank follow one another: their differences are small, and found faster than which
# of them repeat.
_ASCENDING = frozenset({"line"})


class TableFile:
    """A table that is written block by block, to a temporary file.

    Parameters
    ----------
    path
        Where the run file is going to be: the table is written beside it, under a hidden name.
    """

    def __init__(self, path: Path) -> None:
        self._file = OutputFile(path)
        self._output: ParquetWriter | None = None
        self.rows = 0

    def write(self, columns: Mapping[str, pa.Array]) -> None:
        """Write a block; all blocks have the same columns."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.table(dict(columns))
        with self._file.writing():
            if self._output is None:
                names = table.column_names
                repeating = [name for name in names if name in _REPEATING]
                compression = {name: "none" if name in _DISTINCT else "zstd" for name in names}
                encoding = {name: "DELTA_BINARY_PACKED" for name in names if name in _ASCENDING}
                # Arrow's own copy of the schema is not the same bytes each time.
                self._output = pq.ParquetWriter(
                    self._file.stream,
                    table.schema,
                    use_dictionary=repeating,
                    compression=compression,
                    column_encoding=encoding or None,
                    store_schema=False,
                )
            if table.num_rows:
                self._output.write_table(table, row_group_size=table.num_rows)
        self.rows += table.num_rows

    def close(self) -> None:
        """Write the table's end. It can be read from now on."""
        assert self._output is not None
        with self._file.writing():
            self._output.close()

    def reader(self) -> IO[bytes]:
        """Open the table, which is closed."""
        return self._file.reader()

    def discard(self) -> None:
        if self._output is not None:
            # Its end would be written when it is forgotten, to a file that is not there any more.
            with contextlib.suppress(OSError, ValueError):
                self._output.close()
        self._file.discard()


class RecordTable:
    """Records of one kind, which come as rows of the core and leave in blocks sorted by rank.

    Parameters
    ----------
    name
        Of `COLUMNS`.
    path
        See `TableFile`.
    row_type
        The type of the core's rows.
    ranks
        Number of ranks.
    """

    def __init__(self, name: str, path: Path, row_type: np.dtype[np.void], ranks: int) -> None:
        self.file = TableFile(path)
        self._columns = COLUMNS[name] | (PATH_COLUMNS if name == "states" else {})
        self._type = row_type
        self._ranks = ranks
        self._waiting: list[bytes] = []
        self._size = 0

    def add(self, rows: bytes, last: bool) -> None:
        """Take rows in; write them when they fill a block."""
        self._waiting.append(rows)
        self._size += len(rows)
        if not last and self._size < BLOCK * self._type.itemsize:
            return
        fields = self._type.fields
        assert fields is not None
        places = {
            name: (fields[field][1], int(fields[field][0].itemsize))
            for name, field in self._columns.items()
        }
        is_sorted = "rank" in self._columns
        data = self._waiting[0] if len(self._waiting) == 1 else b"".join(self._waiting)
        self._waiting, self._size = [], 0
        every = _core.row_columns(
            data,
            self._type.itemsize,
            [*places.values()],
            int(fields["rank"][1]) if is_sorted else -1,
            self._ranks,
        )
        values = {
            name: one.view(fields[field][0])
            for (name, field), one in zip(self._columns.items(), every, strict=True)
        }
        columns = {name: _column(values[name], field) for name, field in self._columns.items()}
        if is_sorted:
            columns["start"] = arrow_array(values["start"], _follows(values))
        self.file.write(columns)
        if last:
            self.file.close()


def _follows(rows: Mapping[str, NDArray[np.generic]]) -> NDArray[np.bool_]:
    """Which rows begin when the row before ends, which is of the same rank, shape (rows,)."""
    import numpy as np

    rank, start, end = rows["rank"], rows["start"], rows["end"]
    return np.append(False, (start[1:] == end[:-1]) & (rank[1:] == rank[:-1]))[: len(rank)]


def _column(values: NDArray[np.generic], field: str) -> pa.Array:
    import numpy as np

    if field in ("collective", "receives", "by_peer"):
        return arrow_array(values.astype(np.bool_))
    if field in ("sent", "received", "started", "arrived"):
        return arrow_array(values, values.astype(np.float64, copy=False) < 0)
    return arrow_array(values)
