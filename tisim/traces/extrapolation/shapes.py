"""Texts of calls without numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tisim.traces.packed_program import LITERAL, NUMBER, PADDED

Numbers = NDArray[np.int64]

_PADDED = re.compile(bytes([PADDED]) + b".", re.DOTALL)


@dataclass(frozen=True)
class Shape:
    """The text of a call with marks for its numbers."""

    text: bytes
    marks: tuple[int, ...]
    #: Bit mask of the holes that take ranks.
    rank_holes: int
    #: The holes that represent one number per rank.
    vectors: tuple[int, ...] = ()
    #: The holes that are numbers in a file name.
    in_name: tuple[int, ...] = ()
    #: True if its numbers are means of data-dependent numbers.
    is_data: bool = False
    #: The texts of the calls that started the requests that it names.
    started_by: tuple[bytes, ...] = ()

    @cached_property
    def _hash(self) -> int:
        return hash((self.text, self.started_by))

    def __hash__(self) -> int:
        return self._hash

    def is_rank(self, hole: int) -> bool:
        """Return whether a hole takes a rank."""
        return hole < 64 and bool(self.rank_holes >> hole & 1)

    @property
    def action(self) -> str:
        """First word."""
        return self.text.decode("utf-8", "replace").split(" ")[0]

    def shown(self) -> str:
        """Return the text with an N for each number."""
        text = _PADDED.sub(b"N", self.text).decode("utf-8", "replace")
        return "".join("N" if ord(c) < 8 else c for c in text)


# Index of the file name in a line, and the numbers in names other than the width of a rank's
# number. Trace numbers never have more digits.
_NAMES = {b"open": 2, b"file_open": 2, b"stat": 1, b"unlink": 1, b"mkdir": 1}
_IN_NAME = re.compile(rb"%\d*d|%%|(?<!\d)\d{1,18}(?!\d)")


def with_numbers_in_name(
    shape: Shape, values: list[Numbers], ranks: int
) -> tuple[Shape, list[Numbers]]:
    """Turn the numbers in a file name into numbers of the call, which may depend on the rank: ranks
    may write to files in groups, ``out.<rank / 4>``, or to one per step.
    """
    words = shape.text.split(b" ")
    place = _NAMES.get(words[0], 0)
    if not 0 < place < len(words) or shape.rank_holes or bytes([LITERAL]) in words[place]:
        return shape, values
    found: list[int] = []
    marks: list[int] = []

    def mark(number: re.Match[bytes]) -> bytes:
        digits = number[0]
        if digits.startswith(b"%"):
            return digits
        found.append(int(digits))
        marks.append(PADDED if len(digits) > 1 and digits.startswith(b"0") else NUMBER)
        return bytes([PADDED, len(digits)] if marks[-1] == PADDED else [NUMBER])

    words[place] = _IN_NAME.sub(mark, words[place])
    before = sum(len(word) == 1 and word[0] == NUMBER for word in words[:place])
    of_name = [np.full(ranks, number, dtype=np.int64) for number in found]
    values = [*values[:before], *of_name, *values[before:]]
    marks = [*shape.marks[:before], *marks, *shape.marks[before:]]
    in_name = tuple(range(before, before + len(found)))
    text = b" ".join(words)
    return replace(shape, text=text, marks=tuple(marks), in_name=in_name), values


@dataclass(frozen=True)
class ClassCall:
    """A call of one class of ranks."""

    shape: Shape
    #: For each hole a number for each rank of the class.
    numbers: tuple[Numbers, ...]
    #: The holes, except those that take ranks, whose numbers differ.
    varying: frozenset[int]
    #: The calls that started the requests that it names.
    starters: tuple[ClassCall, ...] = ()

    def of_ranks(self, chosen: NDArray[np.bool_] | Numbers) -> ClassCall:
        """Return the call for some of the ranks, or for all in another order."""
        return ClassCall(
            self.shape,
            tuple(numbers[chosen] for numbers in self.numbers),
            self.varying,
            tuple(starter.of_ranks(chosen) for starter in self.starters),
        )
