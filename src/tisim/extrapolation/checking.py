"""An extrapolated trace beside one that was recorded on as many ranks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from tisim.errors import InputError
from tisim.extrapolation.recorded.program import read_trace
from tisim.formats.tit import TitTrace


@dataclass(frozen=True)
class Difference:
    """The first call that a rank makes otherwise than recorded.

    Attributes
    ----------
    rank
        The rank.
    number
        Which of its calls, from 1; computations do not count.
    made, recorded
        The lines; empty: there are no more.
    """

    rank: int
    number: int
    made: str
    recorded: str


@dataclass(frozen=True)
class SiteVolume:
    """What all ranks compute before calls of one kind.

    Attributes
    ----------
    action
        The first word of the calls.
    made, recorded
        The sums.
    """

    action: str
    made: float
    recorded: float

    @property
    def error(self) -> float:
        """How far the sum is off, relative to the recorded one."""
        return abs(self.made - self.recorded) / (abs(self.recorded) or 1.0)


@dataclass(frozen=True)
class Check:
    """How an extrapolated trace compares with a recorded one.

    Attributes
    ----------
    calls
        How many calls were compared, of all ranks.
    different
        How many ranks make other calls, or calls with other numbers.
    first
        The first of the differences.
    volumes
        By the action that follows the computation, in the order of their size.
    """

    calls: int
    different: int
    first: Difference | None
    volumes: tuple[SiteVolume, ...]


def check(made: str | os.PathLike[str], recorded: str | os.PathLike[str]) -> Check:
    """Compare calls one by one, with all their numbers, and volumes by call.

    Parameters
    ----------
    made
        The extrapolated trace.
    recorded
        A trace that was recorded on as many ranks.

    Raises
    ------
    InputError
        When it is of another number of ranks.
    """
    mine, theirs = TitTrace(Path(made)), read_trace(recorded, 0).trace
    if mine.ranks != theirs.ranks:
        raise InputError(
            f"it has {theirs.ranks:,} ranks, and {mine.ranks:,} are compared: extrapolate to "
            f"{theirs.ranks:,}",
            file=Path(recorded),
        )
    calls = different = 0
    first: Difference | None = None
    volumes: dict[str, list[float]] = {}
    for rank in range(mine.ranks):
        found: Difference | None = None
        pairs = zip_longest(
            _calls(mine, rank, 0, volumes), _calls(theirs, rank, 1, volumes), fillvalue=""
        )
        for number, (one, other) in enumerate(pairs, 1):
            calls += 1
            if one != other and found is None:
                found = Difference(rank, number, one, other)
        different += found is not None
        first = first or found
    sums = [SiteVolume(action, of[0], of[1]) for action, of in volumes.items()]
    ordered = sorted(sums, key=lambda site: -site.recorded)
    return Check(calls, different, first, tuple(ordered))


def _calls(
    trace: TitTrace, rank: int, which: int, volumes: dict[str, list[float]]
) -> Iterator[str]:
    """The lines of a rank but its computations, whose volumes are added up by what follows."""
    waiting = 0.0
    for line in trace.lines(rank):
        words = line.split(b"#")[0].split()
        if not words:
            continue
        action = words[1].decode("utf-8", "replace").lower()
        if action == "compute":
            waiting += float(words[2])
            continue
        if waiting:
            volumes.setdefault(action, [0.0, 0.0])[which] += waiting
            waiting = 0.0
        yield b" ".join(words).decode("utf-8", "replace")
    if waiting:
        volumes.setdefault("the end", [0.0, 0.0])[which] += waiting
