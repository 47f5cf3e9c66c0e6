"""How far the opening of a trace has come."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import IO

#: Is told which part of the work is done, from 0 to 1.
Progress = Callable[[float], None]


def part_of(progress: Progress | None, start: float, stop: float) -> Progress | None:
    """For a part of the work: what is 0 to 1 of that is `start` to `stop` of all."""
    if progress is None:
        return None
    return lambda fraction: progress(start + (stop - start) * fraction)


def how_far(file: IO[bytes]) -> Callable[[], float]:
    """Return a function that says which part of a regular file has been read, from 0 to 1."""
    size = max(os.fstat(file.fileno()).st_size, 1)
    return lambda: file.tell() / size
