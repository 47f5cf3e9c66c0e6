"""Tables of a run file while they are written, each to a temporary file."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tisim.support.files import OutputFile

if TYPE_CHECKING:
    from io import BufferedReader
    from pathlib import Path


class TableFile:
    """A table that the core writes piece by piece, in a temporary file.

    Parameters
    ----------
    path
        Where the run file is going to be: the table is written beside it, under a hidden name.
    """

    def __init__(self, path: Path) -> None:
        self._file = OutputFile(path)

    def write(self, piece: bytes) -> None:
        """Append what the core has written."""
        if piece:
            self._file.write(piece)

    def reader(self) -> BufferedReader:
        """Open the table, which is complete."""
        return self._file.reader()

    @contextmanager
    def mapped(self) -> Iterator[mmap.mmap]:
        """The table, which is complete, in memory."""
        with (
            self.reader() as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            yield data

    def discard(self) -> None:
        """Remove it."""
        self._file.discard()
