"""Parts that the ranks of a recorded program have written, and the trace that they make."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tisim import _core

#: Where the library that writes such parts is installed, with its header.
TRACE_LIBRARY = Path(_core.__file__).parent / "trace_library"


def files_of_ranks(directory: Path, ending: str) -> dict[int, Path]:
    """The files ``rank-N`` with an ending in a directory, by rank, in order."""
    paths = {
        int(number): path
        for path in directory.glob(f"rank-*{ending}")
        if (number := path.name[len("rank-") : -len(ending)]).isdecimal()
    }
    return dict(sorted(paths.items()))


@dataclass(frozen=True)
class RecordedPart:
    """Facts about a part before parts are merged."""

    rank: int
    ranks: int
    #: True if the rank has ended as it should.
    is_complete: bool
    #: The comments in the part: ``# counter: time``.
    comments: list[str]


def read_recorded_part(path: Path) -> RecordedPart:
    """Look at the part in a file. Raises InputError when the file is not a part."""
    part = _core.read_recorded_part(os.fsencode(path))
    return RecordedPart(part.rank, part.ranks, part.is_complete, part.comments)


def write_recorded_trace(
    parts: Sequence[Path], first_lines: Sequence[str], output: Path
) -> list[int]:
    """Write the packed trace of a program from the parts of its ranks; the ranks that have no part
    or did not end as they should.

    The trace of rank 0 begins with `first_lines`, given without the rank. The file appears when it
    is whole. Raises InputError when a part cannot be read, or the trace cannot be written.
    """
    paths = [os.fsencode(path) for path in parts]
    return _core.write_recorded_trace(paths, list(first_lines), os.fsencode(output))


def lines_without_numbers(trace: Path) -> list[str]:
    """The lines of a packed trace that have no numbers, such as its comments, each one once. Raises
    InputError when the file is not a packed trace.
    """
    return _core.lines_without_numbers(os.fsencode(trace))
