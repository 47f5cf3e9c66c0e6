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

#: How an argument of a call is given: the same on all ranks of the class, the rank plus a number,
#: the rank exclusive-or a number, a number for each rank, a value of its own each time.
_MODES: tuple[int, int, int, int, int] = _core.ARGUMENT_MODES
CONSTANT, RELATIVE, EXCLUSIVE, BY_RANK, COLUMN = _MODES
#: Marks in the text of a shape (docs/tit.md, "Shapes").
_MARKS: tuple[int, int, int, int, int, int, int] = _core.SHAPE_MARKS
NUMBER, VOLUME, NO_RANK, STEP, SILENT, PADDED, LITERAL = _MARKS
#: The marks of holes for numbers.
HOLES = (NUMBER, VOLUME, STEP, PADDED)
#: The number of the shape of computations, which every file has.
COMPUTE_SHAPE = 0

#: The rules of a grammar. An item: whether it is a rule, its number, how often in a row.
Rules = list[list[tuple[bool, int, int]]]
# Lines that are taken from the core at once.
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
        """True if it prints nothing."""
        return self.text == bytes([SILENT])


@dataclass(frozen=True)
class Signature:
    """A call: the number of its shape, and mode and value of each argument."""

    shape: int
    arguments: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class RankClass:
    """Ranks that do the same."""

    #: The ranks, in ascending order.
    ranks: NDArray[np.int32]
    #: The numbers of its calls among the signatures of the trace.
    calls: list[int]
    #: A number for each rank, by argument given by rank, in order.
    vectors: list[NDArray[np.int64]]
    #: The grammar of its sequence of calls; terminals are places in `calls`.
    rules: Rules
    #: True if computations before calls stand in the columns of its ranks.
    has_volumes: bool


class PackedTrace:
    """A packed trace, for those who look at its structure. Raises InputError when the file is not a
    packed trace, or is damaged.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        name = str(Path(path))
        self._file = _core.PackedFile(Part(name, name).for_core())

    @property
    def ranks(self) -> int:
        """How many ranks it has."""
        return self._file.ranks

    @property
    def legacy(self) -> bool:
        """True if its lines are of the legacy dialect."""
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
        """Its calls, without what differs between ranks."""
        return [Signature(shape, tuple(given)) for shape, given in self._file.signatures]

    @cached_property
    def classes(self) -> list[RankClass]:
        """Its classes of ranks."""
        return [RankClass(*self._file.rank_class(number)) for number in range(self._file.classes)]

    def calls(self, rank: int) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        """The calls of a rank: places in its class, and what is computed before each, or 0."""
        return self._file.calls(rank)

    def lines(self, rank: int) -> Iterator[bytes]:
        """The lines of a rank, without their newlines."""
        reader = self._file.lines(rank)
        while lines := reader.read(_LINES):
            yield from lines


def with_section(path: str | os.PathLike[str], name: str, content: bytes) -> bytes:
    """The bytes of a packed trace with an optional section more, at its end. Raises InputError when
    the file cannot be read, or is damaged.
    """
    called = str(Path(path))
    return _core.with_section(Part(called, called).for_core(), name, content)
