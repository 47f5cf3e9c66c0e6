"""Texts of calls without their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Shape:
    """The text of a call with marks for its numbers."""

    text: bytes
    marks: tuple[int, ...]
    #: Which holes take ranks, bit by bit.
    rank_holes: int
    #: Which holes stand for a number for each rank.
    vectors: tuple[int, ...] = ()
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
        """Whether a hole takes a rank."""
        return hole < 64 and bool(self.rank_holes >> hole & 1)

    @property
    def action(self) -> str:
        """The first word."""
        return self.text.decode("utf-8", "replace").split(" ")[0]

    def shown(self) -> str:
        """The text with an N for each number."""
        return "".join("N" if ord(c) < 8 else c for c in self.text.decode("utf-8", "replace"))


@dataclass(frozen=True)
class ClassCall:
    """A call of a class of ranks."""

    shape: Shape
    #: For each hole a number for each rank of the class.
    numbers: tuple[Numbers, ...]
    #: The holes, but those that take ranks, whose numbers differ.
    varying: frozenset[int]
    #: The calls that started the requests that it names.
    starters: tuple[ClassCall, ...] = ()

    def of_ranks(self, chosen: NDArray[np.bool_] | Numbers) -> ClassCall:
        """The same call of some of the ranks, or of all in another order."""
        return ClassCall(
            self.shape,
            tuple(numbers[chosen] for numbers in self.numbers),
            self.varying,
            tuple(starter.of_ranks(chosen) for starter in self.starters),
        )
