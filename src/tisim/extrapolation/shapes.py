"""Texts of calls without their numbers."""

from __future__ import annotations

from dataclasses import dataclass

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
    """

    text: bytes
    marks: tuple[int, ...]
    rank_holes: int
    vectors: tuple[int, ...] = ()
    is_data: bool = False

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
