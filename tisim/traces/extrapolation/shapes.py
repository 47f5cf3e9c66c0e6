"""Texts of calls without their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Shape:
    """The text of a call with marks for its numbers.

    Attributes
    ----------
    text
        The text.
    marks
        The mark of each hole.
    rank_holes
        Which holes take ranks, bit by bit.
    vectors
        Which holes stand for a number for each rank.
    is_data
        Whether its numbers are means of what is data.
    started_by
        The texts of the calls that started the requests that it names.
    """

    text: bytes
    marks: tuple[int, ...]
    rank_holes: int
    vectors: tuple[int, ...] = ()
    is_data: bool = False
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
    """A call of a class of ranks.

    Attributes
    ----------
    shape
        Its text.
    numbers
        For each hole a number for each rank of the class.
    varying
        The holes, but those that take ranks, whose numbers differ.
    starters
        The calls that started the requests that it names.
    """

    shape: Shape
    numbers: tuple[Numbers, ...]
    varying: frozenset[int]
    starters: tuple[ClassCall, ...] = ()

    def of_ranks(self, chosen: NDArray[np.bool_] | Numbers) -> ClassCall:
        """The same call of some of the ranks, or of all in another order."""
        return ClassCall(
            self.shape,
            tuple(numbers[chosen] for numbers in self.numbers),
            self.varying,
            tuple(starter.of_ranks(chosen) for starter in self.starters),
        )
