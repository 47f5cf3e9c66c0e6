"""When each call of a real run began and ended, and the line of the trace that says what it was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tisim.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_COLUMNS = {"rank": "i4", "start": "f8", "end": "f8", "line": "i8"}


@dataclass(frozen=True)
class MeasuredCalls:
    """Calls of a rank, in the order of their lines; several of one line count as one.

    Attributes
    ----------
    line
        Of the rank's trace.
    start, end
        In seconds on a clock of all ranks.
    """

    line: NDArray[np.int64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]

    @classmethod
    def of_lines(
        cls, line: NDArray[np.int64], start: NDArray[np.float64], end: NDArray[np.float64]
    ) -> MeasuredCalls:
        """The calls of a rank, from all that was measured of its lines."""
        import numpy as np

        order = np.argsort(line, kind="stable")
        line, start, end = line[order], start[order], end[order]
        if not len(line):
            return cls(line, start, end)
        first = np.flatnonzero(np.append(True, line[1:] != line[:-1]))
        return cls(line[first], np.minimum.reduceat(start, first), np.maximum.reduceat(end, first))


def read_calls(path: str | os.PathLike[str], ranks: int) -> Iterator[tuple[int, MeasuredCalls]]:
    """Read the calls of each rank from a table, as ``tisim execute --timeline`` writes it.

    Parameters
    ----------
    path
        CSV with the columns ``rank``, ``start``, ``end`` (s) and ``line``.
    ranks
        Number of ranks.

    Yields
    ------
    tuple
        Each rank and its calls.

    Raises
    ------
    InputError
        When it is no such table.
    """
    import numpy as np
    import pandas as pd

    try:
        table = pd.read_csv(path, usecols=[*_COLUMNS], dtype=_COLUMNS)
    except (OSError, ValueError) as error:
        raise InputError(
            f"is no table of calls with the columns {', '.join(_COLUMNS)}: {error}", file=path
        ) from None
    table = table.sort_values("rank", kind="stable", ignore_index=True)
    borders = np.searchsorted(table["rank"].to_numpy(), np.arange(ranks + 1))
    for rank in range(ranks):
        of_rank = table.iloc[borders[rank] : borders[rank + 1]]
        columns = (of_rank[name].to_numpy() for name in ("line", "start", "end"))
        yield rank, MeasuredCalls.of_lines(*columns)
