"""Progress of opening a trace."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import IO

#: Called with the completed fraction of the work, from 0 to 1.
Progress = Callable[[float], None]


def sub_progress(progress: Progress | None, start: float, stop: float) -> Progress | None:
    """Map the progress of a part of the work, 0 to 1, to `start` to `stop` of the whole."""
    if progress is None:
        return None
    return lambda fraction: progress(start + (stop - start) * fraction)


def fraction_read_of(file: IO[bytes]) -> Callable[[], float]:
    """Return a function that gives the fraction of a regular file read so far, from 0 to 1."""
    size = max(os.fstat(file.fileno()).st_size, 1)
    return lambda: file.tell() / size
