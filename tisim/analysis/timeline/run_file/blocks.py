"""Tables of a run file while they are read: the blocks of a window, found by their times."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING

from tisim.analysis.timeline.arrow import numpy_array

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

# Bytes of blocks that a table keeps in memory, those used last.
_KEPT = 96 << 20


# Columns that are needed to know what lies in a window, and in which state: they are read together,
# and the others together when one of them is asked for.
_OFTEN = frozenset({"rank", "start", "end", "state", "kind"})


class _Columns(Mapping[str, "NDArray[np.generic]"]):
    """Columns that are made when they are asked for.

    Parameters
    ----------
    names
        The columns.
    load
        Makes some of them, the one of the name among them.
    """

    def __init__(
        self, names: Sequence[str], load: Callable[[str], Mapping[str, NDArray[np.generic]]]
    ) -> None:
        self._names = names
        self._load = load
        self._known: dict[str, NDArray[np.generic]] = {}

    def __getitem__(self, name: str) -> NDArray[np.generic]:
        if name not in self._known:
            self._known.update(self._load(name))
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


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
        return len(self._columns[next(iter(self._columns))])

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
        columns = self._columns
        return Block(_Columns(tuple(columns), lambda name: {name: columns[name][chosen]}))

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
        # Columns are read when they are asked for, perhaps by several threads of a viewer.
        self._loading = threading.Lock()

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
        rows = Block(_Columns(self.columns, lambda name: self._load(block, name)))
        self._kept[block] = rows
        self._size += self._room(block)
        while self._size > _KEPT and len(self._kept) > 1:
            oldest, _ = self._kept.popitem(last=False)
            self._size -= self._room(oldest)
        return rows

    def _room(self, block: int) -> int:
        """Bytes of a block in memory at most."""
        return int(self._file.metadata.row_group(block).num_rows) * 8 * len(self.columns)

    def _load(self, block: int, name: str) -> dict[str, NDArray[np.generic]]:
        """A column of a block, and those that are read with it."""
        often = name in _OFTEN
        names = [one for one in self.columns if (one in _OFTEN) == often]
        with self._loading:
            table = self._file.read_row_group(block, columns=names, use_threads=False)
        found = {one: numpy_array(table.column(one)) for one in names}
        if {"rank", "start", "end"} <= found.keys():
            found["start"] = _complete(found["start"], found["end"])
        return found

    def none(self) -> Block:
        """No rows, with the columns of the table."""
        import numpy as np

        return Block({name: np.zeros(0) for name in self.columns})


def _complete(start: NDArray[np.generic], end: NDArray[np.generic]) -> NDArray[np.generic]:
    """When rows begin; those without a time begin when the row before ends, shape (rows,)."""
    import numpy as np

    missing = np.isnan(start.astype(np.float64, copy=False))
    return np.where(missing, np.append(np.nan, end[:-1])[: len(end)], start)
