"""Comparison of an extrapolated trace with one recorded on the same number of ranks."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.extrapolation.recorded import read_trace
from tisim.traces.packed_program import PackedTrace

#: By action, the sums of the extrapolated and of the recorded trace.
_Sums = dict[str, list[float]]
# Maximum number of words shown of a line, and number of words that name rank and call.
_MOST_WORDS = 16
_NAMING = 2


@dataclass(frozen=True)
class Difference:
    """The first call of a rank that differs from the recorded one."""

    rank: int
    #: Number of the call, from 1, not counting computations.
    number: int
    #: The lines; empty past the end.
    made: str
    recorded: str

    def shown(self) -> tuple[str, str]:
        """Return both lines; long ones are cut to their beginning and the first difference."""
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
    """Sum over all ranks for one kind of call: computation before the calls, or their data."""

    #: First word of the calls.
    action: str
    made: float
    recorded: float

    @property
    def error(self) -> float:
        """Error of the sum relative to the recorded one."""
        return abs(self.made - self.recorded) / (abs(self.recorded) or 1.0)


@dataclass(frozen=True)
class Check:
    """Result of comparing an extrapolated trace with a recorded one."""

    #: Number of calls compared, over all ranks.
    calls: int
    #: Number of ranks with different calls or numbers.
    different: int
    #: The first difference.
    first: Difference | None
    #: By the action that follows the computation, largest first.
    volumes: tuple[SiteVolume, ...]
    #: Data-dependent numbers of calls, by action.
    data: tuple[SiteVolume, ...] = ()


def check(
    made: str | os.PathLike[str],
    recorded: str | os.PathLike[str],
    approximate: Collection[str] = (),
) -> Check:
    """Compare calls one by one, with all their numbers, and volumes by call. For actions in
    `approximate`, only the action and its count of numbers are compared one by one; the numbers
    are summed. Raises InputError when the recorded trace has another number of ranks.
    """
    mine, theirs = PackedTrace(Path(made)), read_trace(recorded).trace
    if mine.ranks != theirs.ranks:
        raise InputError(
            f"it has {theirs.ranks:,} ranks, but the extrapolated trace has {mine.ranks:,}: "
            f"extrapolate to {theirs.ranks:,}",
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
    """Yield a rank's lines without computations; volumes are summed by the action that follows.

    Data-dependent numbers are summed too and replaced by N.
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
