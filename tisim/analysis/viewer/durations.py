"""Durations of the calls of a window: a histogram for each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tisim.analysis.timeline.run_file import Window
from tisim.analysis.viewer.causes import rows_of

if TYPE_CHECKING:
    Row = dict[str, object]

# Maximum number of blocks of calls examined: 16 million calls.
_MAX_BLOCKS = 128
# Bins are equal parts of a decade of seconds.
_BINS_PER_DECADE = 8
_FIRST_DECADE, _LAST_DECADE = -9, 4
_EDGES = np.logspace(
    _FIRST_DECADE, _LAST_DECADE, (_LAST_DECADE - _FIRST_DECADE) * _BINS_PER_DECADE + 1
)


def durations(window: Window) -> Row:
    """Return histograms of the durations of calls that touch a window, by kind, largest sum first.

    `edges` are the bin borders in seconds. Shorter calls are in the first bin, longer ones in the
    last; calls of zero length are counted separately.
    """
    run = window.run
    blocks = run.actions.overlapping(window.begin, window.end)
    if len(blocks) > _MAX_BLOCKS:
        return {"unknown": "The window contains too many calls to analyse; zoom in."}
    kinds, seconds = [np.zeros(0, np.int64)], [np.zeros(0)]
    for block in blocks:
        rows = window.rows_of(run.actions.read(block))
        kinds.append(rows.numbers("kind"))
        seconds.append(rows.reals("end") - rows.reals("start"))
    kind, length = np.concatenate(kinds), np.concatenate(seconds)
    order = np.argsort(kind, kind="stable")
    used, first = np.unique(kind[order], return_index=True)
    parts = np.split(length[order], first[1:]) if len(used) else []
    durations = rows_of(
        kind=[run.info["kinds"][number] for number in used.tolist()],
        count=[len(part) for part in parts],
        seconds=[float(part.sum()) for part in parts],
        median=[float(np.median(part)) for part in parts],
        longest=[float(part.max()) for part in parts],
        bins=[_histogram(part).tolist() for part in parts],
    )
    durations = [row for row in durations if row["longest"]]
    durations.sort(key=lambda row: -float(str(row["seconds"])))
    return {"edges": _EDGES.tolist(), "kinds": durations}


def _histogram(seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    taking = seconds[seconds > 0.0]
    place = np.clip(np.searchsorted(_EDGES, taking, side="right") - 1, 0, len(_EDGES) - 2)
    return np.bincount(place, minlength=len(_EDGES) - 1)
