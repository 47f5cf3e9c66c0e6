"""Traces whose sizes are rounded or means, as those of irregular programs that are drawn anew.

What stands for a size depends on the size alone, and at the level ``mean`` on its tag and action:
so both ends of a message agree, and a rank's counts with those of all others.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tisim.traces.extrapolation.data import LAYOUTS
from tisim.traces.packed_program import PackedTrace
from tisim.traces.writer import write_trace

_MESSAGES = frozenset(
    f"{mode}{action}".encode()
    for mode in ("", "i", "s", "b", "is", "ib")
    for action in ("send", "recv", "send_init", "recv_init")
)
_NOTE = "# sizes are kept as {} (tisim pack --sizes)\n"
# The key that a size is averaged under, and the size.
_Key = tuple[bytes, int]


def write_rounded_sizes(source: Path, output: Path, level: str) -> None:
    """Write a packed trace with other sizes of messages and counts of collectives by rank.

    Parameters
    ----------
    source, output
        The packed traces.
    level
        ``"5e-2"``, to this relative error each, or ``"mean"``: of all messages with
        one tag, or of all counts of one collective.
    """
    trace = PackedTrace(source)
    instead = _sizes_instead(trace, level)
    with write_trace(output, trace.ranks) as writer:
        for rank in range(trace.ranks):
            writer.write_rank(rank, _lines(trace, rank, level, instead))


def _lines(trace: PackedTrace, rank: int, level: str, instead: Mapping[_Key, int]) -> Iterator[str]:
    yield _NOTE.format(level)
    for line in trace.lines(rank):
        words = line.split(b" ")
        for kind, place in _sizes(words, trace.ranks, level):
            words[place] = b"%d" % instead[kind, int(words[place])]
        yield b" ".join(words).decode() + "\n"


def _sizes(words: Sequence[bytes], ranks: int, level: str) -> Iterator[tuple[bytes, int]]:
    """The key that each size of a line is averaged under, and its place among the words."""
    action = words[1] if len(words) > 1 else b""
    found: list[tuple[bytes, int]] = []
    if action in _MESSAGES and len(words) > 4:
        found = [(words[3], 4)]
    elif action == b"sendrecv":
        found = [(action, 2), (action, 4)]
    elif action.decode() in LAYOUTS:
        at = 2
        for of_ranks in LAYOUTS[action.decode()]:
            width = ranks if of_ranks else 1
            found += [(action if of_ranks else action + b" own", at + i) for i in range(width)]
            at += width
        if at > len(words):  # of a smaller communicator
            return
    for kind, place in found:
        if words[place].isdigit():
            yield kind if level == "mean" else b"", place


def _sizes_instead(trace: PackedTrace, level: str) -> dict[_Key, int]:
    """The replacement of each size."""
    lines = Counter(line.partition(b" ")[2] for r in range(trace.ranks) for line in trace.lines(r))
    found: dict[bytes, Counter[int]] = defaultdict(Counter)
    for line, times in lines.items():
        words = [b"", *line.split(b" ")]
        for kind, place in _sizes(words, trace.ranks, level):
            found[kind][int(words[place])] += times
    instead: dict[_Key, int] = {}
    for kind, sizes in found.items():
        for members in bins(sorted(sizes), level):
            total = sum(sizes[size] for size in members)
            mean = round(sum(size * sizes[size] for size in members) / total)
            instead.update(((kind, size), mean) for size in members)
    return instead


def bins(numbers: Sequence[int], level: str) -> Iterator[list[int]]:
    """Ascending numbers in parts whose largest is no more above the smallest than the level says;
    all are one part at the level ``mean``.
    """
    width = math.inf if level == "mean" else 1 + float(level)
    members: list[int] = []
    for number in numbers:
        if members and number > members[0] * width:
            yield members
            members = []
        members.append(number)
    if members:
        yield members
