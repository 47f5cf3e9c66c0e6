"""Offsets in files as distances from the access before, and back.

Iteration i of a loop that reads or writes at a + b i makes another call each time. By its distance
from the access before it is the same call, so that the loop is found and fitted as any other, also
where its iterations depend on the number of ranks.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tisim.support.files import write_file
from tisim.traces.extrapolated import SECTION
from tisim.traces.extrapolation.recorded import read_trace
from tisim.traces.packed_program import PackedTrace, with_section
from tisim.traces.trace import Trace
from tisim.traces.writer import write_trace

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


def write_distances(path: str | os.PathLike[str], output: Path) -> bool:
    """Write a trace with distances; False if it has no accesses that follow one another."""
    trace = read_trace(path).trace
    if trace.legacy or not has_offsets(trace):
        return False
    with write_trace(output, trace.ranks) as writer:
        for rank in range(trace.ranks):
            writer.write_rank(rank, _told(trace.lines(rank), as_offsets=False))
    return True


def write_offsets(path: Path, output: str | os.PathLike[str]) -> None:
    """Write an extrapolated trace with distances as one with offsets."""
    trace, made = PackedTrace(path), Trace.open(path).extrapolated
    assert made is not None
    with tempfile.TemporaryDirectory(prefix="tisim-extrapolate-") as directory:
        packed = Path(directory) / "packed.tit"
        with write_trace(packed, trace.ranks) as writer:
            for rank in range(trace.ranks):
                writer.write_rank(rank, _told(trace.lines(rank), as_offsets=True))
        write_file(output, with_section(packed, SECTION, made.encoded()))


def _told(lines: Iterable[bytes], *, as_offsets: bool) -> Iterator[str]:
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
        yield line.decode() + "\n"
