"""Lists by rank or lane in files of Arrow: they are mapped into memory, and read in place."""

from __future__ import annotations

import mmap
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from tisim.files import OutputFile
from tisim.timeline.arrow import arrow_array

if TYPE_CHECKING:
    from pathlib import Path
    from typing import IO

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyarrow.ipc import RecordBatchFileWriter

    #: Begins and offsets by rank, ends and keys of the states.
    StateColumns = tuple[
        NDArray[np.float64], NDArray[np.int32], NDArray[np.float64], NDArray[np.uint16]
    ]
    #: Offsets by lane; part, key, seconds, longest and count of the cells.
    CellColumns = tuple[
        NDArray[np.int32],
        NDArray[np.uint32],
        NDArray[np.uint16],
        NDArray[np.float32],
        NDArray[np.float32],
        NDArray[np.uint32],
    ]


class BatchFile:
    """Record batches that are written one by one, to a temporary file.

    Parameters
    ----------
    path
        Where the run file is going to be: the table is written beside it, under a hidden name.

    Attributes
    ----------
    batches
        Number of batches.
    """

    def __init__(self, path: Path) -> None:
        self._file = OutputFile(path)
        self._output: RecordBatchFileWriter | None = None
        self.batches = 0

    def write(
        self,
        lists: str,
        offsets: NDArray[np.int32],
        fields: Mapping[str, NDArray[np.generic]],
        columns: Mapping[str, NDArray[np.generic]],
    ) -> int:
        """Write a batch; all batches have the same columns.

        Parameters
        ----------
        lists
            The name of a column of lists.
        offsets
            Where the list of each row begins, shape (rows + 1,).
        fields
            What an element of the lists consists of, shape (elements,).
        columns
            Other columns, shape (rows,).

        Returns
        -------
        int
            The number of the batch.
        """
        import pyarrow as pa

        elements = pa.StructArray.from_arrays(
            [arrow_array(values) for values in fields.values()], names=[*fields]
        )
        batch = pa.record_batch(
            {
                **{name: arrow_array(values) for name, values in columns.items()},
                lists: pa.ListArray.from_arrays(arrow_array(offsets), elements),
            }
        )
        with self._file.writing():
            if self._output is None:
                self._output = pa.ipc.new_file(self._file.stream, batch.schema)
            self._output.write_batch(batch)
        self.batches += 1
        return self.batches - 1

    def close(self) -> None:
        """Write the file's end. It can be read from now on."""
        assert self._output is not None
        with self._file.writing():
            self._output.close()

    def reader(self) -> IO[bytes]:
        """Open the file, which is closed."""
        return self._file.reader()

    @contextmanager
    def mapped(self) -> Iterator[BatchTable]:
        """The table, which is closed."""
        import pyarrow as pa

        with self.reader() as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            yield BatchTable(pa.BufferReader(pa.py_buffer(data)))

    def discard(self) -> None:
        self._file.discard()


class BatchTable:
    """Record batches whose columns are read where they lie.

    Parameters
    ----------
    source
        A file in memory.
    """

    def __init__(self, source: pa.NativeFile) -> None:
        import pyarrow as pa

        self._file = pa.ipc.open_file(source)
        self._known: dict[int, tuple[NDArray[np.generic], ...]] = {}
        # A viewer answers on several threads.
        self._lock = threading.Lock()

    def states(self, number: int) -> StateColumns:
        """A batch of states by rank."""
        return cast("StateColumns", self._columns(number))

    def cells(self, number: int) -> CellColumns:
        """A batch of cells by lane."""
        return cast("CellColumns", self._columns(number))

    def _columns(self, number: int) -> tuple[NDArray[np.generic], ...]:
        """The columns of a batch in their order; of lists the offsets, then the fields."""
        with self._lock:
            if number not in self._known:
                batch = self._file.get_batch(number)
                self._known[number] = tuple(
                    column for one in batch.columns for column in _arrays(one)
                )
            return self._known[number]


def _arrays(column: pa.Array) -> Iterator[NDArray[np.generic]]:
    import pyarrow as pa

    if not pa.types.is_list(column.type):
        yield _in_place(column.buffers()[1], column.type, len(column))
        return
    yield _in_place(column.buffers()[1], pa.int32(), len(column) + 1)
    elements = column.values
    for place in range(elements.type.num_fields):
        field = elements.field(place)
        yield _in_place(field.buffers()[1], field.type, len(field))


def _in_place(data: pa.Buffer, kind: pa.DataType, count: int) -> NDArray[np.generic]:
    import numpy as np

    values: NDArray[np.generic] = np.frombuffer(data, np.dtype(kind.to_pandas_dtype()), count)
    return np.require(values, requirements="A")
