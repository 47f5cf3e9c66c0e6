"""Timelines as Parquet files, with the columns of the CSV files."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tisim import _core
from tisim.analysis.timeline.columns import (
    ACTION_COLUMNS,
    MESSAGE_COLUMNS,
    MESSAGE_TIMES,
    field_of,
)
from tisim.analysis.timeline.run import FileOutput, files_of
from tisim.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyarrow.parquet import ParquetWriter

    from tisim.support.files import OutputFile

# Number of rows in a row group.
_GROUP = 1 << 17


class ParquetOutput(FileOutput):
    """One row per action in ``run.parquet``, one per message in ``run.messages.parquet``."""

    def __init__(self, path: Path) -> None:
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise InputError(
                "Parquet needs pyarrow: pip install 'tisim[parquet]', or write .csv",
                file=path,
            ) from None
        self._tables: list[_Table] = []
        super().__init__(*files_of(path))
        actions, messages = self._files
        rows = _core.ActionRows(), _core.MessageRows()
        self._tables = [
            _Table(actions, rows[0], _core.action_type(), ACTION_COLUMNS),
            _Table(messages, rows[1], _core.message_type(), MESSAGE_COLUMNS),
        ]

    def listeners(self) -> list[_core.Listener]:
        return [table.writer for table in self._tables]

    def drain(self, last: bool) -> None:
        for table in self._tables:
            table.drain(last)

    def discard(self) -> None:
        for table in self._tables:
            table.close()
        super().discard()


class _Table:
    """A file of rows that are written in groups."""

    def __init__(
        self,
        file: OutputFile,
        writer: _core.Writer,
        row_type: object,
        columns: Sequence[str],
    ) -> None:
        self.writer = writer
        self._file = file
        self._type = cast("np.dtype[np.void]", row_type)
        self._columns = columns
        self._waiting: list[bytes] = []
        self._size = 0
        self._output: ParquetWriter | None = None

    def drain(self, last: bool) -> None:
        rows = self.writer.take(last)
        self._waiting.append(rows)
        self._size += len(rows)
        if last or self._size >= _GROUP * self._type.itemsize:
            self._write_group()
        if last:
            assert self._output is not None
            with self._file.writing():
                self._output.close()
            self._file.complete()

    def close(self) -> None:
        """Close the writer, so that it does not write to a removed file when it is finalised."""
        if self._output is not None:
            with contextlib.suppress(OSError):
                self._output.close()

    def _write_group(self) -> None:
        import numpy as np
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = np.frombuffer(b"".join(self._waiting), dtype=self._type)
        self._waiting, self._size = [], 0
        table = pa.table({name: self._column(rows, name) for name in self._columns})
        with self._file.writing():
            if self._output is None:
                # Times hardly ever repeat: a dictionary of them costs time and saves no space.
                repeating = [col.name for col in table.schema if not pa.types.is_floating(col.type)]
                # Arrow's own copy of the schema is not deterministic.
                self._output = pq.ParquetWriter(
                    self._file.stream, table.schema, use_dictionary=repeating, store_schema=False
                )
            if len(rows):
                self._output.write_table(table, row_group_size=_GROUP)

    def _column(self, rows: NDArray[np.void], name: str) -> pa.Array:
        import numpy as np
        import pyarrow as pa

        values = np.ascontiguousarray(rows[field_of(name)])
        if name == "kind":
            # Several kinds share a name, and Arrow writes a dictionary with duplicate names with
            # uninitialised bytes at its end.
            names, numbers = np.unique(_core.kind_names(), return_inverse=True)
            indices = arrow_array(numbers[values].astype(np.int16))
            return pa.DictionaryArray.from_arrays(indices, pa.array(names.tolist()))
        if name == "collective":
            return arrow_array(values.astype(bool))
        if name in MESSAGE_TIMES:
            return arrow_array(values, values < 0)
        return arrow_array(values)


def arrow_array(values: NDArray[np.generic], missing: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return a column that shares the memory of an array of numbers or booleans, shape (rows,).

    `missing` is True where the value is missing; None: nowhere. `pyarrow.array` would import pandas
    to check whether the array is one of its own, which takes as long as a small simulation.
    """
    import numpy as np
    import pyarrow as pa

    count = 0 if missing is None else int(np.count_nonzero(missing))
    known = None if missing is None or not count else _bits(~missing)
    if values.dtype == np.bool_:
        data, kind = _bits(values), pa.bool_()
    else:
        data = pa.py_buffer(np.ascontiguousarray(values))
        kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [known, data], count)


def _bits(values: NDArray[np.generic]) -> pa.Buffer:
    import numpy as np
    import pyarrow as pa

    return pa.py_buffer(np.packbits(values.astype(np.bool_), bitorder="little"))
