"""Sums of the states of a run at all resolutions.

A level is a grid: lanes of as many ranks each, and the time in equal parts. Its cells hold for each
state and kind of action the seconds, the longest state that touches the cell, and how many end in
it. The finest level of each group size has one cell for at most `_STATES_OF_A_CELL` states, so that
levels are small beside the records, and a window that is too narrow for them holds few records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim import _core
from tisim.timeline.run_file.schema import CELL_COLUMNS, CELLS, LevelInfo
from tisim.timeline.run_file.spans import classes_of_keys, overlapping

if TYPE_CHECKING:
    from tisim.timeline.run_file.batches import BatchFile, BatchTable
    from tisim.timeline.run_file.schema import SpanInfo

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
            of_group.append({"group": group, "parts": parts, "batches": []})
            parts //= _TIME_FACTOR
        if of_group:
            found.append(of_group)
        if lanes < _FEWEST_LANES * _RANKS_FACTOR:
            return found
        group *= _RANKS_FACTOR


def write_levels(
    file: BatchFile,
    states: BatchTable,
    batches: list[SpanInfo],
    keys: list[int],
    ranks: int,
    end: float,
) -> list[LevelInfo]:
    """Write the sums of the states of a run.

    Parameters
    ----------
    file
        What they are written to.
    states
        The states by rank, complete.
    batches
        What is known of their batches.
    keys
        The states and kinds that occur, ``state << 8 | kind``, ascending.
    ranks
        Number of ranks.
    end
        Seconds at which the run ends.

    Returns
    -------
    list
        The levels that were written.
    """
    import numpy as np

    groups = grids(ranks, sum(one["states"] for one in batches)) if end > 0.0 else []
    for levels in groups:
        _write_group(file, states, batches, keys, ranks, end, levels)
    if not groups:
        _write(file, _core.SpanSums(0.0, 0.0, 0, 1, 0).by_lane(0, np.zeros(0, np.uint16)))
    file.close()
    return [level for levels in groups for level in levels]


def _write_group(
    file: BatchFile,
    states: BatchTable,
    batches: list[SpanInfo],
    keys: list[int],
    ranks: int,
    end: float,
    levels: list[LevelInfo],
) -> None:
    import numpy as np

    group, parts = levels[0]["group"], levels[0]["parts"]
    lanes = -(-ranks // group)
    names = np.array(keys, np.uint16)
    classes = classes_of_keys(names.astype(np.int64), np.arange(len(keys), dtype=np.int32))
    every = np.arange(ranks, dtype=np.int32)
    strip = max(_CELLS_AT_ONCE // (lanes * len(keys)), 1)
    strip = min(1 << (strip.bit_length() - 1), parts)  # a power of two divides the parts
    for first in range(0, parts, strip):
        begin, stop = end * first / parts, end * (first + strip) / parts
        sums = _core.SpanSums(begin, stop, lanes, strip, len(keys))
        for number in overlapping(batches, begin, stop):
            sums.add_states(*states.states(number), every, every // np.int32(group), classes)
        cells = sums.by_lane(first, names)
        for halvings, level in enumerate(levels):
            coarser = cells.halved() if level is not levels[-1] else None
            number = _write(file, cells)
            last = (first + strip - 1) >> halvings
            level["batches"].append((number, first >> halvings, last))
            if coarser is not None:
                cells = coarser


def _write(file: BatchFile, cells: _core.LaneTable) -> int:
    columns = cells.take()
    return file.write(CELLS, columns[0], dict(zip(CELL_COLUMNS, columns[1:], strict=True)), {})
