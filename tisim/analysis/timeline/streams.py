"""GPU streams that ranks launch on: their nodes, and the resulting GPU occupation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tisim.analysis.timeline.columns import frame

if TYPE_CHECKING:
    import pandas as pd

    from tisim.gpu.step_graph import Node

#: The states of a GPU: only a kernel, a kernel and communication, only communication, waiting for
#: peers, idle.
OCCUPATIONS = ("compute", "overlapped", "exposed", "waiting", "idle")


class Span(NamedTuple):
    """Node of a GPU stream, or of all GPUs of a lane; waits for peers from arrival to start (s)."""

    lane: int
    stream: str
    node: Node
    arrival: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Streams:
    """Activities of the streams of all GPUs.

    Attributes
    ----------
    spans
        Their nodes, ordered by end time.
    states
        The same as rows of a run file without gaps, in lanes after the ranks.
    ranks, end
        Number of ranks, and seconds until everything has ended.
    """

    spans: Sequence[Span]
    states: bytes
    ranks: int
    end: float

    @property
    def table(self) -> pd.DataFrame:
        """One row per node: `rank`, `stream`, `node`, `line`, `arrival`, `start` and `end`."""
        rows = [(s.lane, s.stream, s.node.label, s.node.line, *s[3:]) for s in self.spans]
        names = ("rank", "stream", "node", "line", "arrival", "start", "end")
        return frame({name: [row[place] for row in rows] for place, name in enumerate(names)})

    @property
    def occupations(self) -> pd.DataFrame:
        """Seconds of each GPU in each of `OCCUPATIONS`, one row per rank."""
        import pandas as pd

        of_rank: list[list[Span]] = [[] for _ in range(self.ranks)]
        for span in self.spans:
            of_rank[span.lane].append(span)
        rows = [self._seconds(spans) for spans in of_rank]
        index = pd.RangeIndex(self.ranks, name="rank")
        return pd.DataFrame(rows, index=index, columns=list(OCCUPATIONS))

    def _seconds(self, spans: Sequence[Span]) -> list[float]:
        import numpy as np

        found = np.array([*changes_of(spans), (0.0, 0, 0, 0, 0), (self.end, 0, 0, 0, 0)])
        found = found[np.argsort(found[:, 0], kind="stable")]
        lasts = np.append(np.diff(found[:, 0]), 0.0)
        computes, moves, waits = (np.cumsum(found[:, 1:4], axis=0) > 0).T
        parts = (
            *(computes & ~moves, computes & moves, moves & ~computes),
            *(waits & ~moves & ~computes, ~(waits | moves | computes)),
        )
        return [float(lasts[part].sum()) for part in parts]


def changes_of(spans: Iterable[Span]) -> Iterator[tuple[float, int, int, int, int]]:
    """Yield dates, changes in the number of kernels, communications and waits, and the line."""
    for _, _, node, arrival, start, end in spans:
        if node.kind == "kernel":
            yield (start, 1, 0, 0, node.line)
            yield (end, -1, 0, 0, 0)
        elif node.kind == "communication":
            yield (arrival, 0, 0, 1, node.line)
            yield (start, 0, 1, -1, node.line)
            yield (end, 0, -1, 0, 0)
