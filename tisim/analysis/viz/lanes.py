"""Rows of a picture: a rank each, or as many ranks as are needed to make them few."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Lanes:
    """Ranks in groups of consecutive ones.

    Attributes
    ----------
    ranks
        Number of all ranks.
    size
        Ranks in each lane; the last may have fewer.
    """

    ranks: int
    size: int

    @classmethod
    def at_most(cls, ranks: int, most: int) -> Lanes:
        """No more than `most` lanes, of 1, 2, 5, 10, 20, ... ranks."""
        return cls(ranks, next(size for size in _round_numbers() if size * most >= ranks))

    @property
    def count(self) -> int:
        """Number of lanes."""
        return -(-self.ranks // self.size)

    @property
    def groups(self) -> NDArray[np.int32]:
        """The lane of each rank; shape (ranks,)."""
        import numpy as np

        return np.arange(self.ranks, dtype=np.int32) // np.int32(self.size)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Ranks in each lane; shape (count,)."""
        import numpy as np

        return np.bincount(self.groups, minlength=self.count)

    def label(self, lane: int) -> str:
        """The rank of a lane, or its first and last: ``3``, ``100-199``."""
        first = lane * self.size
        last = min(first + self.size, self.ranks) - 1
        return str(first) if first == last else f"{first}-{last}"


def _round_numbers() -> Iterator[int]:
    for power in itertools.count():
        for digit in (1, 2, 5):
            yield digit * 10**power
