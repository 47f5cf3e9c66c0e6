"""An extrapolated trace beside one that was recorded on as many ranks."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.extrapolation.recorded import read_trace
from tisim.traces.packed_program import PackedTrace

#: By action, a sum of the trace that was made and one of that which was recorded.
_Sums = dict[str, list[float]]
# Words of a line that is shown whole, and those that say which rank makes which call.
_MOST_WORDS = 16
_NAMING = 2


@dataclass(frozen=True)
class Difference:
    """The first call that a rank makes otherwise than recorded."""

    rank: int
    #: Which of its calls, from 1; computations do not count.
    number: int
    #: The lines; empty: there are no more.
    made: str
    recorded: str

    def shown(self) -> tuple[str, str]:
        """Both lines, of long ones the beginning and what follows from where they differ."""
        pair = self.made.split(" "), self.recorded.split(" ")
        at = next(at for at, (one, other) in enumerate(zip_longest(*pair)) if one != other)
        return _part(pair[0], at), _part(pair[1], at)


def _part(words: list[str], at: int) -> str:
    if len(words) <= _MOST_WORDS:
        return " ".join(words)
    beginning = [*words[:_NAMING], "..."] if at > _NAMING else words[:at]
    end = at + _MOST_WORDS // 2
    return " ".join([*beginning, *words[at:end], *(["..."] if end < len(words) else [])])


@dataclass(frozen=True)
class SiteVolume:
    """Sum over all ranks for calls of one kind: computation before them, or their data."""

    #: The first word of the calls.
    action: str
    made: float
    recorded: float

    @property
    def error(self) -> float:
        """How far the sum is off, relative to the recorded one."""
        return abs(self.made - self.recorded) / (abs(self.recorded) or 1.0)


@dataclass(frozen=True)
class Check:
    """How an extrapolated trace compares with a recorded one."""

    #: How many calls were compared, of all ranks.
    calls: int
    #: How many ranks make other calls, or calls with other numbers.
    different: int
    #: The first of the differences.
    first: Difference | None
    #: By the action that follows the computation, in the order of their size.
    volumes: tuple[SiteVolume, ...]
    #: The numbers of calls that are data, by action.
    data: tuple[SiteVolume, ...] = ()


def check(
    made: str | os.PathLike[str],
    recorded: str | os.PathLike[str],
    approximate: Collection[str] = (),
) -> Check:
    """Compare calls one by one, with all their numbers, and volumes by call. Of the actions in
    `approximate`, only that a rank makes such a call there, with as many numbers, is compared one
    by one; the numbers are added up. Raises InputError when it is of another number of ranks.
    """
    mine, theirs = PackedTrace(Path(made)), read_trace(recorded).trace
    if mine.ranks != theirs.ranks:
        raise InputError(
            f"it has {theirs.ranks:,} ranks, and {mine.ranks:,} are compared: extrapolate to "
            f"{theirs.ranks:,}",
            file=Path(recorded),
        )
    calls = different = 0
    first: Difference | None = None
    volumes: _Sums = {}
    data: _Sums = {action: [0.0, 0.0] for action in approximate}
    for rank in range(mine.ranks):
        found: Difference | None = None
        pairs = zip_longest(
            _calls(mine, rank, 0, volumes, data),
            _calls(theirs, rank, 1, volumes, data),
            fillvalue="",
        )
        for number, (one, other) in enumerate(pairs, 1):
            calls += 1
            if one != other and found is None:
                found = Difference(rank, number, one, other)
        different += found is not None
        first = first or found
    return Check(calls, different, first, _ordered(volumes), _ordered(data))


def _ordered(sums: _Sums) -> tuple[SiteVolume, ...]:
    sites = [SiteVolume(action, of[0], of[1]) for action, of in sums.items()]
    return tuple(sorted(sites, key=lambda site: -site.recorded))


def _calls(trace: PackedTrace, rank: int, which: int, volumes: _Sums, data: _Sums) -> Iterator[str]:
    """The lines of a rank but its computations, whose volumes are added up by what follows.

    Of numbers that are data, which are added up too, N stands for each.
    """
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
        if action in data:
            numbers = words[_NAMING:]
            data[action][which] += sum(map(float, numbers))
            words[_NAMING:] = [b"N"] * len(numbers)
        yield b" ".join(words).decode("utf-8", "replace")
    if waiting:
        volumes.setdefault("the end", [0.0, 0.0])[which] += waiting
