"""Writing a trace, a rank after the other and in bounded memory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from tisim import _core
from tisim.files import new_directory, replacing

#: A target with this suffix is one packed file; any other is a directory.
PACKED_SUFFIX = ".tit"
# So many characters of a rank's lines are written at once.
_PIECE = 1 << 20


class TraceWriter(Protocol):
    """A trace that is being written."""

    def write_rank(self, rank: int, pieces: Iterable[str]) -> None:
        """Write all lines of a rank.

        Parameters
        ----------
        rank
            The rank.
        pieces
            Its lines, some at a time; each line with its newline.
        """
        ...

    def write_repeated(self, rank: int, pieces: Iterable[tuple[str, int]]) -> None:
        """Write all lines of a rank that repeats some of them.

        Parameters
        ----------
        rank
            The rank.
        pieces
            Lines, each with its newline, and how often they follow one another. In a packed file
            repetitions take neither time nor space.
        """
        ...


@contextlib.contextmanager
def write_trace(target: str | os.PathLike[str], ranks: int) -> Iterator[TraceWriter]:
    r"""Open a trace to write; it appears when the ``with`` block ends without an exception.

    Parameters
    ----------
    target
        One packed file when its name ends in ``.tit``; otherwise a directory, with a file a rank,
        which must not be there yet, or be empty.
    ranks
        How many ranks there will be.

    Yields
    ------
    TraceWriter

    Raises
    ------
    InputError
        When `target` cannot be written.

    Examples
    --------
    >>> with write_trace("ring.tit", ranks=1) as trace:  # doctest: +SKIP
    ...     trace.write_rank(0, ["0 compute 1e6\n"])
    """
    if Path(target).suffix == PACKED_SUFFIX:
        with replacing(target) as unfinished:
            writer = _core.PackedWriter(ranks)
            yield _PackedFile(writer)
            writer.finish(os.fsencode(unfinished))
    else:
        with new_directory(target) as unfinished:
            yield _Directory(unfinished)


class _PackedFile:
    def __init__(self, writer: _core.PackedWriter) -> None:
        self._writer = writer

    def write_rank(self, rank: int, pieces: Iterable[str]) -> None:
        self._writer.begin_rank(_name(rank).encode())
        for piece in pieces:
            self._writer.write(piece.encode())
        self._writer.end_rank()

    def write_repeated(self, rank: int, pieces: Iterable[tuple[str, int]]) -> None:
        encoded = [(lines.encode(), times) for lines, times in pieces]
        self._writer.add_rank(_name(rank).encode(), encoded)


class _Directory:
    def __init__(self, path: Path) -> None:
        self._path = path

    def write_rank(self, rank: int, pieces: Iterable[str]) -> None:
        with (self._path / _name(rank)).open("w", encoding="utf-8") as file:
            file.writelines(pieces)

    def write_repeated(self, rank: int, pieces: Iterable[tuple[str, int]]) -> None:
        self.write_rank(rank, spelled_out(pieces))


def spelled_out(pieces: Iterable[tuple[str, int]]) -> Iterator[str]:
    """Yield the lines of repeated pieces, not too many at once."""
    for lines, times in pieces:
        at_once = max(_PIECE // max(len(lines), 1), 1)
        for first in range(0, times, at_once):
            yield lines * min(at_once, times - first)


def _name(rank: int) -> str:
    return f"rank-{rank}.txt"
