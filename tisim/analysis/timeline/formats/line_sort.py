"""Sorts lines of files that do not fit in memory."""

from __future__ import annotations

import heapq
import mmap
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from typing import IO

from tisim.support.files import OutputFile

_LINES = 200_000  # that are sorted in memory


def sorted_lines(file: IO[bytes], key: Callable[[bytes], int]) -> Iterator[bytes]:
    """The lines of a file by a number; those of the same number keep their order.

    Parameters
    ----------
    file
        What has been written, all of it.
    key
        The number of a line.
    """
    file.seek(0)
    with ExitStack() as runs:
        parts = []
        while chunk := sorted(islice(file, _LINES), key=key):
            run = runs.enter_context(tempfile.TemporaryFile())
            run.writelines(chunk)
            run.seek(0)
            parts.append(run)
        yield from heapq.merge(*parts, key=key)


def merge_lines(file: OutputFile, lines: Iterable[bytes], key: Callable[[bytes], int]) -> None:
    """Put lines in their places in a file, after those of the same number.

    Parameters
    ----------
    file
        What has been written and not been completed: a first line, and sorted ones.
    lines
        Few, sorted too.
    key
        The number of a line.
    """
    with file.reader() as old, mmap.mmap(old.fileno(), 0, access=mmap.ACCESS_READ) as data:
        file.restart()
        position = 0
        with memoryview(data) as view:
            for line in lines:
                place = _place(data, key(line), max(position, data.find(b"\n") + 1), key)
                file.write(view[position:place])
                file.write(line)
                position = place
            file.write(view[position:])


def _place(data: mmap.mmap, number: int, first: int, key: Callable[[bytes], int]) -> int:
    """Where the lines of higher numbers begin; `first` is the beginning of a line."""
    low, high = first, len(data)
    while low < high:
        middle = (low + high) // 2
        begin = max(data.rfind(b"\n", low, middle) + 1, low)
        end = data.find(b"\n", begin) + 1
        if key(data[begin:end]) <= number:
            low = end
        else:
            high = begin
    return low
