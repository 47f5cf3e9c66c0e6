"""The states by rank, as pictures and sums read them: when each ends, and what it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tisim import _core
from tisim.timeline.run_file.batches import BatchFile
from tisim.timeline.run_file.schema import BLOCK, SPAN_COLUMNS, SPANS, SpanInfo

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# States of a rank in a batch: few ranks of all the time are then in few pages of the file, as are
# all ranks of a short time. Batches of more states take too much memory while they are written.
_OF_A_RANK = 32
_MOST = 1 << 22

#: What stands for a state where a rank is in none.
NO_STATE = 0xFFFF


class SpanWriter:
    """Writes states by rank in batches, each of a stretch of the time.

    Parameters
    ----------
    path
        Where the run file is going to be.
    ranks
        Number of ranks.

    Attributes
    ----------
    file
        What they are written to.
    batches
        What has been written.
    """

    def __init__(self, path: Path, ranks: int) -> None:
        self.file = BatchFile(path)
        self.batches: list[SpanInfo] = []
        self._states = _core.StatesByRank(ranks)
        self._full = min(max(BLOCK, _OF_A_RANK * ranks), _MOST)
        self._keys: set[int] = set()

    def add(self, rows: bytes, *, last: bool) -> None:
        """Take rows of the core's `state_type`; `last`: there are no more."""
        self._states.add(rows)
        if last or len(self._states) >= self._full:
            self._write()
        if last:
            self.file.close()

    @property
    def keys(self) -> list[int]:
        """The states and kinds that have occurred, ``state << 8 | kind``, ascending."""
        return sorted(self._keys - {NO_STATE})

    def _write(self) -> None:
        import numpy as np

        begins, offsets, ends, keys, begin, end = self._states.take()
        self._keys.update(np.flatnonzero(np.bincount(keys)).tolist())
        self.file.write(
            SPANS, offsets, dict(zip(SPAN_COLUMNS, (ends, keys), strict=True)), {"begin": begins}
        )
        if len(ends):
            self.batches.append({"begin": begin, "end": end, "states": len(ends)})


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
