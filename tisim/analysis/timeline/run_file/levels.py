"""Sums of the states of a run at all resolutions.

A level is a grid: lanes of as many ranks each, and the time in equal parts. Its cells hold for each
state and kind of action the seconds, the longest state that touches the cell, and how many end in
it. The finest level of each group size has one cell for at most `_STATES_OF_A_CELL` states, so that
levels are small beside the records, and a window that is too narrow for them holds few records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tisim import _core

if TYPE_CHECKING:
    import mmap

    import numpy as np
    from numpy.typing import NDArray

    from tisim.analysis.timeline.run_file.schema import LevelInfo
    from tisim.analysis.timeline.run_file.tables import TableFile

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
    file: TableFile, spans: _core.SpanFile, states: mmap.mmap, ranks: int, end: float
) -> list[LevelInfo]:
    """Write the sums of the states of a run.

    Parameters
    ----------
    file
        What they are written to.
    spans
        The states by rank, complete.
    states
        The file that has them, in memory.
    ranks
        Number of ranks.
    end
        Seconds at which the run ends.

    Returns
    -------
    list
        The levels that were written.
    """
    count = sum(states for _, _, states in spans.batches())
    groups = grids(ranks, count) if end > 0.0 else []
    sums, content = _core.LevelFile(), cast("NDArray[np.uint8]", states)  # any buffer
    for levels in groups:
        group, parts = levels[0]["group"], levels[0]["parts"]
        strip = max(_CELLS_AT_ONCE // (-(-ranks // group) * len(spans.keys())), 1)
        strip = min(1 << (strip.bit_length() - 1), parts)  # a power of two divides the parts
        for first in range(0, parts, strip):
            sums.sum(spans, content, group, parts, first, strip, end)
            for halvings, level in enumerate(levels):
                if halvings > 0:
                    sums.halve()
                last = (first + strip - 1) >> halvings
                level["batches"].append((sums.write(), first >> halvings, last))
            file.write(sums.take(last=False))
    file.write(sums.take(last=True))
    return [level for levels in groups for level in levels]
