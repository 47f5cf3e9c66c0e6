"""Offsets in files as distances from the access before, and back.

Iteration i of a loop that reads or writes at a + b i makes another call each time. By its distance
from the access before it is the same call, so that the loop is found and fitted as any other, also
where its iterations depend on the number of ranks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial

from tisim.traces.extrapolation.rewriting import Rewriting
from tisim.traces.packed_program import PackedTrace

# Rank, action and handle; the bytes; the offset, behind which other arguments may stand.
_AT = re.compile(
    rb"\d+ ((?:pread|pwrite|file_i?(?:read|write)_at(?:_all)?(?:_begin)?) \d+) \d+ (-?\d+)(?![^ ])"
)
_SEEK = re.compile(rb"\d+ ((?:lseek|file_seek) \d+) (-?\d+)(?= set|$)")
_OPENED = re.compile(rb"\d+ (?:file_)?open (\d+) ")


def has_offsets(trace: PackedTrace) -> bool:
    """Whether a rank has two accesses at an offset."""
    return any(
        len([line for line in trace.lines(int(part.ranks[0])) if _AT.match(line)]) > 1
        for part in trace.classes
        if part.ranks.size
    )


def _told(lines: Iterable[bytes], *, as_offsets: bool) -> Iterator[bytes]:
    before: dict[bytes, int] = {}
    for line in lines:
        if opened := _OPENED.match(line):
            for call in [call for call in before if call.split(b" ")[1] == opened[1]]:
                del before[call]
        if found := _AT.match(line) or _SEEK.match(line):
            number, last = int(found[2]), before.get(found[1], 0)
            told = last + number if as_offsets else number - last
            before[found[1]] = told if as_offsets else number
            line = line[: found.start(2)] + str(told).encode() + line[found.end(2) :]
        yield line


#: Distances in the place of offsets.
AS_DISTANCES = Rewriting((partial(_told, as_offsets=False),), (partial(_told, as_offsets=True),))
