"""Streams of GPUs that ranks launch on: their nodes, and what these leave of the time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from tisim.analysis.timeline.columns import frame

if TYPE_CHECKING:
    import pandas as pd

#: The states of a GPU: a kernel alone, a kernel beside communication, communication alone, waiting
#: for peers, nothing.
OCCUPATIONS = ("compute", "overlapped", "exposed", "waiting", "idle")


class StreamSpan(NamedTuple):
    """A node of a stream; dates in seconds. It arrives, waits for others, starts and ends."""

    rank: int
    stream: str
    node: str
    kind: Literal["kernel", "communication", "other"]
    line: int
    arrival: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Streams:
    """Activities of the streams of all GPUs.

    Attributes
    ----------
    spans
        Their nodes, in the order of their ends.
    states
        The same as rows of a run file without gaps, whose lanes follow the ranks.
    ranks, end
        Number of ranks, and seconds until all was over.
    """

    spans: Sequence[StreamSpan]
    states: bytes
    ranks: int
    end: float

    @property
    def table(self) -> pd.DataFrame:
        """A row a node: `rank`, `stream`, `node`, `line`, `arrival`, `start` and `end`."""
        columns = ("rank", "stream", "node", "line", "arrival", "start", "end")
        return frame({name: [getattr(span, name) for span in self.spans] for name in columns})

    @property
    def occupations(self) -> pd.DataFrame:
        """Seconds of each GPU in each of `OCCUPATIONS`, a row a rank."""
        import pandas as pd

        of_rank: list[list[StreamSpan]] = [[] for _ in range(self.ranks)]
        for span in self.spans:
            of_rank[span.rank].append(span)
        rows = [self._seconds(spans) for spans in of_rank]
        index = pd.RangeIndex(self.ranks, name="rank")
        return pd.DataFrame(rows, index=index, columns=list(OCCUPATIONS))

    def _seconds(self, spans: Sequence[StreamSpan]) -> list[float]:
        import numpy as np

        changes = np.array([*_changes(spans), (0.0, 0, 0, 0), (self.end, 0, 0, 0)])
        changes = changes[np.argsort(changes[:, 0], kind="stable")]
        lasts = np.append(np.diff(changes[:, 0]), 0.0)
        computes, moves, waits = (np.cumsum(changes[:, 1:], axis=0) > 0).T
        parts = (
            *(computes & ~moves, computes & moves, moves & ~computes),
            *(waits & ~moves & ~computes, ~(waits | moves | computes)),
        )
        return [float(lasts[part].sum()) for part in parts]


def _changes(spans: Sequence[StreamSpan]) -> Iterator[tuple[float, int, int, int]]:
    """Dates at which so many kernels, communications and waits begin or end."""
    for span in spans:
        if span.kind == "kernel":
            yield (span.start, 1, 0, 0)
            yield (span.end, -1, 0, 0)
        elif span.kind == "communication":
            yield (span.arrival, 0, 0, 1)
            yield (span.start, 0, 1, -1)
            yield (span.end, 0, -1, 0)
