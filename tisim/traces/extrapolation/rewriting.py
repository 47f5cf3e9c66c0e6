"""Traces in other words that are easier to fit, and what is made of them back in the usual ones."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tisim.support.files import write_file
from tisim.traces.extrapolated import SECTION
from tisim.traces.extrapolation.recorded import RecordedTrace
from tisim.traces.packed_program import PackedTrace, with_section
from tisim.traces.trace import Trace
from tisim.traces.writer import write_trace

#: Changes the lines of a rank, which have no newlines.
Change = Callable[[Iterable[bytes]], Iterator[bytes]]


@dataclass(frozen=True)
class Rewriting:
    """Changes of lines, one after the other, and those that take them back."""

    forth: tuple[Change, ...] = ()
    back: tuple[Change, ...] = ()

    def then(self, other: Rewriting) -> Rewriting:
        """Add changes behind these; they are taken back first."""
        return Rewriting(self.forth + other.forth, other.back + self.back)

    def write(self, traces: Sequence[RecordedTrace], directory: Path) -> list[Path]:
        """Write recorded traces in other words."""
        paths = [directory / f"{at}.tit" for at in range(len(traces))]
        for recorded, path in zip(traces, paths, strict=True):
            _write(recorded.trace, path, self.forth)
        return paths

    def write_back(self, path: Path, output: str | os.PathLike[str]) -> None:
        """Write an extrapolated trace in the usual words."""
        made = Trace.open(path).extrapolated
        assert made is not None
        with tempfile.TemporaryDirectory(prefix="tisim-extrapolate-") as directory:
            packed = Path(directory) / "packed.tit"
            _write(PackedTrace(path), packed, self.back)
            write_file(output, with_section(packed, SECTION, made.encoded()))


def _write(trace: PackedTrace, output: Path, changes: Sequence[Change]) -> None:
    with write_trace(output, trace.ranks) as writer:
        for rank in range(trace.ranks):
            lines: Iterable[bytes] = trace.lines(rank)
            for change in changes:
                lines = change(lines)
            writer.write_rank(rank, (line.decode() + "\n" for line in lines))
