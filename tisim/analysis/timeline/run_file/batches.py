"""Lists by rank or lane in files of Arrow: they are mapped into memory, and read in place."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

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
