"""Writing of a trace, one rank after another and in bounded memory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tisim import _core
from tisim.errors import InputError
from tisim.support.files import new_directory, replacing
from tisim.traces.program import CallSequence, Program

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: A target with this suffix is a packed file; any other is a directory.
PACKED_SUFFIX = ".tit"
# Maximum number of characters of a rank's lines written at once.
_PIECE = 1 << 20


class TraceWriter(Protocol):
    """A trace being written."""

    def write_rank(self, rank: int, pieces: Iterable[str]) -> None:
        """Write all lines of a rank, in pieces of some lines, each with its newline."""
        ...

    def write_repeated(self, rank: int, pieces: Iterable[tuple[str, int]]) -> None:
        """Write all lines of a rank that repeats some of them. Pieces are lines, each with its
        newline, and their number of consecutive repetitions. In a packed file repetitions take
        neither time nor space.
        """
        ...

    def write_program(self, rank: int, program: Program | CallSequence) -> None:
        """Write all lines of a rank of known structure; a packed file takes the grammar as is."""
        ...


@contextlib.contextmanager
def write_trace(target: str | os.PathLike[str], ranks: int) -> Iterator[TraceWriter]:
    r"""Open a trace to write; it appears when the ``with`` block ends without an exception.

    Parameters
    ----------
    target
        A packed file if the name ends in ``.tit``; otherwise a directory, with one file per rank,
        which must not exist or must be empty.
    ranks
        Number of ranks.

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

    def write_program(self, rank: int, program: Program | CallSequence) -> None:
        lines = [line.encode() for line in program.lines]
        name = _name(rank).encode()
        try:
            if isinstance(program, Program):
                self._writer.add_program(name, lines, program.rules, program.volumes)
            else:
                self._write_calls(name, lines, program)
        except ValueError as error:
            raise InputError(f"rank {rank}: {error}") from None

    def _write_calls(self, name: bytes, lines: list[bytes], program: CallSequence) -> None:
        import numpy as np  # slow to load

        offsets, places = _flattened(program.places)
        path_indices = np.array(program.path_indices, np.int32)
        self._writer.add_calls(
            name,
            lines,
            offsets,
            places,
            program.calls,
            program.volumes,
            list(program.call_paths),
            path_indices,
        )


class DrawnTraceWriter(_PackedFile):
    r"""Writes a packed trace whose volumes are drawn from histograms.

    For importers of traces that contain only histograms of their computations. A reader of the
    trace draws a volume by a hash of the seed, the rank, the two calls around it and its number:
    the same in every run.

    Parameters
    ----------
    ranks
        Number of ranks.
    seed
        Seed of the drawn volumes, from 0 to 2**64 - 1.

    Examples
    --------
    >>> writer = DrawnTraceWriter(ranks=1, seed=7)  # doctest: +SKIP
    >>> work = writer.histogram([(1e6, 2e6, 10), (5e6, 6e6, 1)])  # doctest: +SKIP
    >>> writer.write_rank(0, [f"0 compute histogram={work}\n0 barrier\n"])  # doctest: +SKIP
    >>> writer.finish("drawn.tit")  # doctest: +SKIP
    """

    def __init__(self, ranks: int, *, seed: int = 0) -> None:
        if not 0 <= seed < 2**64:
            raise InputError(f"a seed must be a whole number from 0 to 2**64 - 1, not {seed!r}")
        super().__init__(_core.PackedWriter(ranks))
        self._writer.draw_volumes(seed)

    def histogram(self, bins: Iterable[tuple[float, float, int]]) -> int:
        """Add a histogram of volumes.

        Parameters
        ----------
        bins
            Smallest and largest volume of each bin, in flops, and the number of its volumes, in
            ascending order.

        Returns
        -------
        int
            Its number, for lines ``RANK compute histogram=NUMBER``.

        Raises
        ------
        InputError
            When bins are out of order or out of range (0 to 1e15), or when there is no volume.
        """
        try:
            return self._writer.histogram(list(bins))
        except ValueError as error:
            raise InputError(str(error)) from None

    def write_rank(self, rank: int, pieces: Iterable[str]) -> None:
        """Write all lines of the next rank, as `TraceWriter.write_rank` does.

        Raises
        ------
        InputError
            When a line names an unknown histogram.
        """
        try:
            super().write_rank(rank, pieces)
        except ValueError as error:
            raise InputError(str(error)) from None

    def finish(self, target: str | os.PathLike[str]) -> None:
        """Write the file; it appears once it is complete.

        Raises
        ------
        InputError
            When `target` cannot be written.
        """
        with replacing(target) as unfinished:
            self._writer.finish(os.fsencode(unfinished))


class _Directory:
    def __init__(self, path: Path) -> None:
        self._path = path

    def write_rank(self, rank: int, pieces: Iterable[str]) -> None:
        with (self._path / _name(rank)).open("w", encoding="utf-8") as file:
            file.writelines(pieces)

    def write_repeated(self, rank: int, pieces: Iterable[tuple[str, int]]) -> None:
        self.write_rank(rank, expand_pieces(pieces))

    def write_program(self, rank: int, program: Program | CallSequence) -> None:
        self.write_rank(rank, program.expand(rank))


def _flattened(
    places: Sequence[Sequence[int]],
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the offset of each call's places, and the concatenated places of all calls."""
    import numpy as np  # slow to load

    offsets = np.cumsum([0, *map(len, places)]).astype(np.uint32)
    return offsets, np.array([place for call in places for place in call], np.uint32)


def expand_pieces(pieces: Iterable[tuple[str, int]]) -> Iterator[str]:
    """Yield the lines of repeated pieces, a bounded number at once."""
    for lines, times in pieces:
        at_once = max(_PIECE // max(len(lines), 1), 1)
        for first in range(0, times, at_once):
            yield lines * min(at_once, times - first)


def _name(rank: int) -> str:
    return f"rank-{rank}.txt"
