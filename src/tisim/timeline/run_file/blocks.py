"""Tables of a run file while they are read: the blocks of a window, found by their times."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import IO, TYPE_CHECKING

from tisim.timeline.arrow import numpy_array

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

# Bytes of blocks that a table keeps in memory, those used last.
_KEPT = 96 << 20


class Block:
    """Rows of a table, by columns.

    Parameters
    ----------
    columns
        The columns, by name.
    """

    def __init__(self, columns: Mapping[str, NDArray[np.generic]]) -> None:
        self._columns = columns

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(column.nbytes for column in self._columns.values())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._columns)

    def numbers(self, name: str) -> NDArray[np.int64]:
        """A column of integers."""
        import numpy as np

        return self._columns[name].astype(np.int64, copy=False)

    def reals(self, name: str) -> NDArray[np.float64]:
        """A column of times, volumes or sums; NaN where there is none."""
        import numpy as np

        return self._columns[name].astype(np.float64, copy=False)

    def rows(self, chosen: slice | NDArray[np.bool_] | NDArray[np.intp]) -> Block:
        """Some of the rows."""
        return Block({name: column[chosen] for name, column in self._columns.items()})

    @staticmethod
    def joined(blocks: Iterable[Block]) -> Block:
        """The rows of several blocks, of which there is at least one."""
        import numpy as np

        every = [block._columns for block in blocks]
        return Block({name: np.concatenate([one[name] for one in every]) for name in every[0]})


class BlockTable:
    """A table in Parquet whose row groups are its blocks.

    Parameters
    ----------
    source
        An open file, or a buffer of Arrow.
    columns
        Those that are read; all of them when not given.

    Attributes
    ----------
    blocks
        Number of blocks.
    """

    def __init__(self, source: IO[bytes] | pa.NativeFile, columns: Iterable[str] = ()) -> None:
        import pyarrow.parquet as pq

        self._file = pq.ParquetFile(source)
        names = self._file.schema_arrow.names
        self.columns: tuple[str, ...] = tuple(columns) or tuple(names)
        self._place = {name: names.index(name) for name in names}
        self.blocks: int = self._file.metadata.num_row_groups
        self.rows: int = self._file.metadata.num_rows
        self._ranges: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        self._kept: OrderedDict[int, Block] = OrderedDict()
        self._size = 0
        # A viewer answers on several threads.
        self._lock = threading.Lock()

    def range_of(self, column: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The least and the greatest value of a column in each block."""
        if column not in self._ranges:
            import numpy as np

            metadata, place = self._file.metadata, self._place[column]
            pairs = []
            for block in range(self.blocks):
                statistics = metadata.row_group(block).column(place).statistics
                known = statistics is not None and statistics.has_min_max
                pairs.append((statistics.min, statistics.max) if known else (-np.inf, np.inf))
            self._ranges[column] = (
                np.array([least for least, _ in pairs], np.float64),
                np.array([most for _, most in pairs], np.float64),
            )
        return self._ranges[column]

    def overlapping(
        self, begin: float, end: float, start: str = "start", stop: str = "end"
    ) -> list[int]:
        """The blocks with records that may overlap a part of the time.

        Parameters
        ----------
        begin, end
            Seconds.
        start, stop
            The columns in which records begin and end.
        """
        import numpy as np

        found = (self.range_of(stop)[1] >= begin) & (self.range_of(start)[0] <= end)
        blocks: list[int] = np.flatnonzero(found).tolist()
        return blocks

    def read(self, block: int) -> Block:
        """The rows of a block."""
        with self._lock:
            return self._read(block)

    def _read(self, block: int) -> Block:
        if block in self._kept:
            self._kept.move_to_end(block)
            return self._kept[block]
        table = self._file.read_row_group(block, columns=list(self.columns), use_threads=False)
        rows = Block({name: numpy_array(table.column(name)) for name in self.columns})
        self._kept[block] = rows
        self._size += rows.nbytes
        while self._size > _KEPT and len(self._kept) > 1:
            _, oldest = self._kept.popitem(last=False)
            self._size -= oldest.nbytes
        return rows

    def none(self) -> Block:
        """No rows, with the columns of the table."""
        import numpy as np

        return Block({name: np.zeros(0) for name in self.columns})
