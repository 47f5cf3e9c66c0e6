"""Sorts the lines of a file that does not fit in memory."""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from typing import IO

from tisim.recording.files import NewFile

_LINES = 200_000  # that are sorted in memory


def sort_lines(file: NewFile, key: Callable[[bytes], int]) -> None:
    """Sort all lines but the first by a number; those of the same number keep their order.

    Parameters
    ----------
    file
        What has been written and not been committed.
    key
        The number of a line.
    """
    runs: list[IO[bytes]] = []
    try:
        with file.reader() as lines:
            header = lines.readline()
            while chunk := list(islice(lines, _LINES)):
                runs.append(_run(sorted(chunk, key=key)))
        file.restart()
        file.write(header)
        for part in _parts(heapq.merge(*runs, key=key)):
            file.write(part)
    finally:
        for run in runs:
            run.close()


def _run(lines: list[bytes]) -> IO[bytes]:
    run = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the caller
    run.writelines(lines)
    run.seek(0)
    return run


def _parts(lines: Iterator[bytes]) -> Iterator[bytes]:
    while part := b"".join(islice(lines, 10_000)):
        yield part
