"""What importers of recorded programs make: a graph, and a count of what it does not hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tisim.gpu.step_graph import Graph


@dataclass(frozen=True, slots=True)
class Recording:
    """A graph of a recording, and what was recorded.

    Attributes
    ----------
    text
        The graph as a graph file.
    seconds
        From the first launch or kernel to the end of the last kernel; 0 where no dates were
        recorded.
    kernels, collectives, kept
        Kernels and copies, those of them that communicate, and those of them whose times were kept
        since their sizes or groups are not recorded.
    lost
        What the graph does not hold: how often.
    """

    graph: Graph
    text: str
    seconds: float
    kernels: int
    collectives: int
    kept: int
    lost: Counter[str] = field(default_factory=Counter)
