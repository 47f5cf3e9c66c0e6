"""The states by rank, as pictures and sums read them: when each ends, and what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim import _core

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tisim.analysis.timeline.run_file.schema import SpanInfo

#: States of a batch at least.
BLOCK = 1 << 17

# States of a rank in a batch: few ranks of all the time are then in few pages of the file, as are
# all ranks of a short time. Batches of more states take too much memory while they are written.
_OF_A_RANK = 32
_MOST = 1 << 22


def span_file(ranks: int) -> _core.SpanFile:
    """What writes the states by rank of a run."""
    return _core.SpanFile(ranks, min(max(BLOCK, _OF_A_RANK * ranks), _MOST))


def span_batches(spans: _core.SpanFile) -> list[SpanInfo]:
    """What has been written."""
    return [
        {"begin": begin, "end": end, "states": states} for begin, end, states in spans.batches()
    ]


def classes_of_keys(keys: NDArray[np.int64], classes: NDArray[np.int32]) -> NDArray[np.int32]:
    """A class for each number that may stand for a state and kind; -1 for those that do not.

    Parameters
    ----------
    keys
        ``state << 8 | kind``, shape (keys,).
    classes
        Their classes, shape (keys,).
    """
    import numpy as np

    table = np.full(1 << 16, -1, np.int32)
    table[keys] = classes
    return table


def overlapping(batches: list[SpanInfo], begin: float, end: float) -> list[int]:
    """The numbers of the batches with states that may overlap a part of the time, in seconds."""
    return [
        number for number, one in enumerate(batches) if one["end"] >= begin and one["begin"] <= end
    ]
