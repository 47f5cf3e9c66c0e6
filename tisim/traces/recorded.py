"""Recorded parts, one per rank, and the trace merged from them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tisim import _core

#: Installation directory of the library that writes such parts, and of its header.
TRACE_LIBRARY = Path(_core.__file__).parent / "trace_library"


def files_of_ranks(directory: Path, ending: str) -> dict[int, Path]:
    """Return the files ``rank-N`` with a suffix in a directory, by rank, in order."""
    paths = {
        int(number): path
        for path in directory.glob(f"rank-*{ending}")
        if (number := path.name[len("rank-") : -len(ending)]).isdecimal()
    }
    return dict(sorted(paths.items()))


@dataclass(frozen=True)
class RecordedPart:
    """Facts about a part before merging."""

    rank: int
    ranks: int
    #: True if the rank ended normally.
    is_complete: bool
    #: The comments in the part: ``# counter: time``.
    comments: list[str]


def read_recorded_part(path: Path) -> RecordedPart:
    """Read the facts about a part. Raises InputError when the file is not a part."""
    part = _core.read_recorded_part(os.fsencode(path))
    return RecordedPart(part.rank, part.ranks, part.is_complete, part.comments)


def write_recorded_trace(
    parts: Sequence[Path], first_lines: Sequence[str], output: Path
) -> list[int]:
    """Merge the parts of a program's ranks into a packed trace; return the ranks that have no part
    or did not end normally.

    The trace of rank 0 begins with `first_lines`, given without the rank. The file appears once it
    is complete. Raises InputError when a part cannot be read, or the trace cannot be written.
    """
    paths = [os.fsencode(path) for path in parts]
    return _core.write_recorded_trace(paths, list(first_lines), os.fsencode(output))


def lines_without_numbers(trace: Path) -> list[str]:
    """Return the distinct lines of a packed trace that have no numbers, such as its comments.
    Raises InputError when the file is not a packed trace.
    """
    return _core.lines_without_numbers(os.fsencode(trace))
