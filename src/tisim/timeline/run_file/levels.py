"""Sums of the states of a run at all resolutions.

A level is a grid: lanes of as many ranks each, and the time in equal parts. Its cells hold for each
state and kind of action the seconds, the longest state that touches the cell, and how many end in
it. The finest level of each group size has one cell for at most `_STATES_OF_A_CELL` states, so that
levels are small beside the records, and a window that is too narrow for them holds few records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tisim import _core
from tisim.timeline.arrow import arrow_array
from tisim.timeline.run_file.schema import LEVEL_COLUMNS, LevelInfo

if TYPE_CHECKING:
    from typing import IO

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from tisim.timeline.run_file.blocks import BlockTable
    from tisim.timeline.run_file.tables import TableFile

    #: Part, lane, key, seconds, longest, count.
    Cells = tuple[
        NDArray[np.uint32],
        NDArray[np.uint32],
        NDArray[np.uint32],
        NDArray[np.float32],
        NDArray[np.float32],
        NDArray[np.uint32],
    ]

_STATES_OF_A_CELL = 32
# Lanes of a level hold this many times the ranks of those of the next finer one, and parts of the
# time of a level are this many times as long as those of the next finer one.
_RANKS_FACTOR = 4
_TIME_FACTOR = 2
# Levels of fewer lanes or parts are not needed: pictures are larger.
_FEWEST_LANES = 32
_FEWEST_PARTS = 256
_MOST_PARTS = 1 << 22
# Cells that are summed in memory at once (12 bytes each).
_CELLS_AT_ONCE = 4_000_000
# Rows that are written at once.
_ROWS = 1 << 16
_CELL_TYPES = ("u4", "u4", "u4", "f4", "f4", "u4")


def grids(ranks: int, states: int) -> list[list[LevelInfo]]:
    """The levels of a run, those of one group size together, the finest first."""
    found = []
    group = 1
    while True:
        lanes = -(-ranks // group)
        wanted = max(states // (_STATES_OF_A_CELL * lanes), 1)
        parts = min(1 << (wanted - 1).bit_length(), _MOST_PARTS)
        of_group: list[LevelInfo] = []
        while parts >= _FEWEST_PARTS:
            of_group.append({"group": group, "parts": parts})
            parts //= _TIME_FACTOR
        if of_group:
            found.append(of_group)
        if lanes < _FEWEST_LANES * _RANKS_FACTOR:
            return found
        group *= _RANKS_FACTOR


def write_levels(
    table: TableFile, states: IO[bytes], keys: list[int], ranks: int, end: float, count: int
) -> list[LevelInfo]:
    """Write the sums of the states of a run.

    Parameters
    ----------
    table
        What they are written to.
    states
        The table of states, complete.
    keys
        The states and kinds that occur, ``state << 8 | kind``, ascending.
    ranks
        Number of ranks.
    end
        Seconds at which the run ends.
    count
        Number of states.

    Returns
    -------
    list
        The levels that were written.
    """
    import numpy as np

    from tisim.timeline.run_file.blocks import BlockTable

    source = BlockTable(states, ("rank", "start", "end", "state", "kind"))
    groups = grids(ranks, count) if end > 0.0 else []
    for levels in groups:
        _write_group(table, source, keys, ranks, end, levels)
    if not table.rows:
        table.write(_columns(0, 0, [np.zeros(0, one) for one in _CELL_TYPES]))
    table.close()
    return [level for levels in groups for level in levels]


def _write_group(
    table: TableFile,
    source: BlockTable,
    keys: list[int],
    ranks: int,
    end: float,
    levels: list[LevelInfo],
) -> None:
    import numpy as np

    group, parts = levels[0]["group"], levels[0]["parts"]
    lanes = -(-ranks // group)
    place = np.full(1 << 16, -1, np.int32)
    place[keys] = np.arange(len(keys), dtype=np.int32)
    buffers = [_Buffer(table, level) for level in levels]
    strip = max(_CELLS_AT_ONCE // (lanes * len(keys)), 1)
    strip = min(1 << (strip.bit_length() - 1), parts)  # a power of two divides the parts
    for first in range(0, parts, strip):
        begin, stop = end * first / parts, end * (first + strip) / parts
        sums = _core.SpanSums(begin, stop, lanes, strip, len(keys))
        for block in source.overlapping(begin, stop):
            rows = source.read(block)
            start, stop_of = rows.reals("start"), rows.reals("end")
            seconds = stop_of - start
            sums.add(
                start,
                stop_of,
                (rows.numbers("rank") // group).astype(np.int32),
                place[rows.numbers("state") << 8 | rows.numbers("kind")],
                seconds,
                seconds,
                np.ones(len(seconds), np.int64),
            )
        part, lane, key, total, longest, count = sums.cells()
        cells = (part + np.uint32(first), lane, key, total, longest, count)
        for buffer in buffers:
            buffer.add(cells)
            cells = coarser(cells, lanes, len(keys))
    for buffer in buffers:
        buffer.flush()


def coarser(cells: Cells, lanes: int, keys: int) -> Cells:
    """The cells of the next coarser level in time."""
    import numpy as np

    part, lane, key, seconds, longest, count = cells
    if not len(part):
        return cells
    wide = part.astype(np.int64) // _TIME_FACTOR
    place = (wide * lanes + lane) * keys + key
    order = np.argsort(place, kind="stable")
    place = place[order]
    first = np.flatnonzero(np.append(True, place[1:] != place[:-1]))
    place = place[first]
    return (
        (place // (lanes * keys)).astype(np.uint32),
        (place // keys % lanes).astype(np.uint32),
        (place % keys).astype(np.uint32),
        np.add.reduceat(seconds[order], first, dtype=np.float32),
        np.maximum.reduceat(longest[order], first),
        np.add.reduceat(count[order], first, dtype=np.uint32),
    )


class _Buffer:
    """Cells of a level that are written together."""

    def __init__(self, table: TableFile, level: LevelInfo) -> None:
        self._table = table
        self._level = level
        self._cells: list[Cells] = []
        self._size = 0

    def add(self, cells: Cells) -> None:
        self._cells.append(cells)
        self._size += len(cells[0])
        if self._size >= _ROWS:
            self.flush()

    def flush(self) -> None:
        import numpy as np

        if not self._size:
            return
        cells = [np.concatenate([one[i] for one in self._cells]) for i in range(6)]
        self._cells, self._size = [], 0
        for start in range(0, len(cells[0]), _ROWS):
            piece = [column[start : start + _ROWS] for column in cells]
            self._table.write(_columns(self._level["group"], self._level["parts"], piece))


def _columns(group: int, parts: int, cells: Sequence[NDArray[np.generic]]) -> dict[str, pa.Array]:
    import numpy as np

    size = len(cells[0])
    values = (np.full(size, group, np.uint32), np.full(size, parts, np.uint32), *cells)
    return {name: arrow_array(column) for name, column in zip(LEVEL_COLUMNS, values, strict=True)}
