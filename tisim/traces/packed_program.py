"""The structure of a packed trace: classes of ranks, their calls, and the grammars of these."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tisim import _core
from tisim.traces.sources import Part

#: Modes of a call's arguments: the same on all ranks of the class, the rank plus a number, the
#: rank exclusive-or a number, a number per rank, or a different value in each call.
_MODES: tuple[int, int, int, int, int] = _core.ARGUMENT_MODES
CONSTANT, RELATIVE, EXCLUSIVE, BY_RANK, COLUMN = _MODES
#: Marks in the text of a shape (docs/tit.md, "Shapes").
_MARKS: tuple[int, int, int, int, int, int, int] = _core.SHAPE_MARKS
NUMBER, VOLUME, NO_RANK, STEP, SILENT, PADDED, LITERAL = _MARKS
#: The marks of holes for numbers.
HOLES = (NUMBER, VOLUME, STEP, PADDED)
#: The number of the computation shape, present in every file.
COMPUTE_SHAPE = 0

#: The rules of a grammar. An item: whether it is a rule, its number, its consecutive repetitions.
Rules = list[list[tuple[bool, int, int]]]
# Number of lines read from the core at once.
_LINES = 4096


@dataclass(frozen=True)
class LineShape:
    """A line without its numbers."""

    #: The text with the marks of holes.
    text: bytes
    #: Bit i: hole i takes a rank.
    rank_holes: int
    holes: tuple[int, ...]

    @property
    def is_silent(self) -> bool:
        """True if no text is printed for it."""
        return self.text == bytes([SILENT])


@dataclass(frozen=True)
class Signature:
    """A call: the number of its shape, and the mode and value of each argument."""

    shape: int
    arguments: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class RankClass:
    """Ranks with the same behaviour."""

    #: The ranks, in ascending order.
    ranks: NDArray[np.int32]
    #: Indices of its calls in the signatures of the trace.
    calls: list[int]
    #: For each by-rank argument, in order, a number for each rank.
    vectors: list[NDArray[np.int64]]
    #: The grammar of its sequence of calls; terminals are indices into `calls`.
    rules: Rules
    #: True if computations before calls are stored in the columns of its ranks.
    has_volumes: bool


class PackedTrace:
    """The structure of a packed trace. Raises InputError when the file is damaged or is not a
    packed trace.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        name = str(Path(path))
        self._file = _core.PackedFile(Part(name, name).for_core())

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self._file.ranks

    @property
    def legacy(self) -> bool:
        """True if its lines use the legacy dialect."""
        return self._file.legacy

    @cached_property
    def shapes(self) -> list[LineShape]:
        """The shapes of its lines."""
        return [
            LineShape(text, rank_holes, tuple(holes))
            for text, rank_holes, holes in self._file.shapes
        ]

    @cached_property
    def signatures(self) -> list[Signature]:
        """Its calls, without the values that differ between ranks."""
        return [Signature(shape, tuple(given)) for shape, given in self._file.signatures]

    @cached_property
    def classes(self) -> list[RankClass]:
        """Its classes of ranks."""
        return [RankClass(*self._file.rank_class(number)) for number in range(self._file.classes)]

    def calls(self, rank: int) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        """Return a rank's calls: indices in its class, and volumes computed before each, or 0."""
        return self._file.calls(rank)

    def lines(self, rank: int) -> Iterator[bytes]:
        """Yield the lines of a rank, without newlines."""
        reader = self._file.lines(rank)
        while lines := reader.read(_LINES):
            yield from lines


def with_section(path: str | os.PathLike[str], name: str, content: bytes) -> bytes:
    """Return the bytes of a packed trace with an optional section appended. Raises InputError when
    the file is damaged or cannot be read.
    """
    called = str(Path(path))
    return _core.with_section(Part(called, called).for_core(), name, content)
