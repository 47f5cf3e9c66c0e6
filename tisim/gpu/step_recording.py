"""The results of importers of recorded programs: a graph, and a count of what it does not hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tisim.errors import InputError
from tisim.gpu.step_graph import MOST_RANKS, Graph


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


def check_ranks(ranks: int, file: str | Path) -> None:
    """Refuse a number of ranks that a recording cannot have, before anything grows with it."""
    if not 1 <= ranks <= MOST_RANKS:
        raise InputError(f"is of {ranks} ranks; there are 1 to {MOST_RANKS:,}", file=file)


def shape_of(members: tuple[int, ...], world: int) -> tuple[int, int] | None:
    """The size and the stride of a group as a graph file has them; None: it is not so regular."""
    if len(members) < 2 or members[-1] >= world:
        return None
    size, first, stride = len(members), members[0], members[1] - members[0]
    if stride < 1 or members != tuple(range(first, first + size * stride, stride)):
        return None
    return (size, stride) if first // stride % size == 0 else None
