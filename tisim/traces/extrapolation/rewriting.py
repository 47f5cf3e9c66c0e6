"""Rewriting of traces into a form that is easier to fit, and of the result back.

For example, offsets in files become distances from the previous access. Iteration i of a loop that
reads or writes at a + b i makes a different call each time; as a distance from the previous access
it is the same call, so the loop is found and fitted like any other, even if its iterations depend
on the number of ranks.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tisim.support.files import write_file
from tisim.traces.extrapolated import SECTION
from tisim.traces.extrapolation.recorded import RecordedTrace
from tisim.traces.packed_program import PackedTrace, with_section
from tisim.traces.trace import Trace
from tisim.traces.writer import write_trace

#: Changes the lines of a rank, given without newlines.
Change = Callable[[Iterable[bytes]], Iterator[bytes]]


@dataclass(frozen=True)
class Rewriting:
    """Changes of lines, applied in sequence, and their inverses."""

    forward: tuple[Change, ...] = ()
    inverse: tuple[Change, ...] = ()

    def then(self, other: Rewriting) -> Rewriting:
        """Append changes; they are undone first."""
        return Rewriting(self.forward + other.forward, other.inverse + self.inverse)

    def write(self, traces: Sequence[RecordedTrace], directory: Path) -> list[Path]:
        """Write rewritten traces."""
        paths = [directory / f"{at}.tit" for at in range(len(traces))]
        for recorded, path in zip(traces, paths, strict=True):
            _write(recorded.trace, path, self.forward)
        return paths

    def write_back(self, path: Path, output: str | os.PathLike[str]) -> None:
        """Write an extrapolated trace with the changes undone."""
        made = Trace.open(path).extrapolated
        assert made is not None
        with tempfile.TemporaryDirectory(prefix="tisim-extrapolate-") as directory:
            packed = Path(directory) / "packed.tit"
            _write(PackedTrace(path), packed, self.inverse)
            write_file(output, with_section(packed, SECTION, made.encoded()))


def _write(trace: PackedTrace, output: Path, changes: Sequence[Change]) -> None:
    with write_trace(output, trace.ranks) as writer:
        for rank in range(trace.ranks):
            lines: Iterable[bytes] = trace.lines(rank)
            for change in changes:
                lines = change(lines)
            writer.write_rank(rank, (line.decode() + "\n" for line in lines))


# Rank, action and handle; the bytes; the offset, possibly followed by other arguments.
_AT = re.compile(
    rb"\d+ ((?:pread|pwrite|file_i?(?:read|write)_at(?:_all)?(?:_begin)?) \d+) \d+ (-?\d+)(?![^ ])"
)
_SEEK = re.compile(rb"\d+ ((?:lseek|file_seek) \d+) (-?\d+)(?= set|$)")
_OPENED = re.compile(rb"\d+ (?:file_)?open (\d+) ")


def has_offsets(trace: PackedTrace) -> bool:
    """Return whether a rank has two accesses at an offset."""
    return any(
        len([line for line in trace.lines(int(part.ranks[0])) if _AT.match(line)]) > 1
        for part in trace.classes
        if part.ranks.size
    )


def _lines(lines: Iterable[bytes], *, as_offsets: bool) -> Iterator[bytes]:
    before: dict[bytes, int] = {}
    for line in lines:
        if opened := _OPENED.match(line):
            for call in [call for call in before if call.split(b" ")[1] == opened[1]]:
                del before[call]
        if found := _AT.match(line) or _SEEK.match(line):
            number, last = int(found[2]), before.get(found[1], 0)
            converted = last + number if as_offsets else number - last
            before[found[1]] = converted if as_offsets else number
            line = line[: found.start(2)] + str(converted).encode() + line[found.end(2) :]
        yield line


#: Distances instead of offsets.
AS_DISTANCES = Rewriting((partial(_lines, as_offsets=False),), (partial(_lines, as_offsets=True),))
