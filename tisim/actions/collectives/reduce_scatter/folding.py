"""Leaving a power of two of ranks: the first ones work in pairs, the odd rank of each for both."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from tisim.actions.collectives.topology import power_of_two_up_to


class Folding(NamedTuple):
    """`workers` of the ranks work, numbered from 0; the first `pairs` of them for two ranks.

    Attributes
    ----------
    workers
        The largest power of two that is not above the number of ranks.
    pairs
        The number of ranks that are left over.
    """

    workers: int
    pairs: int

    def worker(self, rank: int) -> int | None:
        """The number of `rank` as a worker; None for the even rank of a pair."""
        if rank >= 2 * self.pairs:
            return rank - self.pairs
        return rank // 2 if rank % 2 else None

    def rank(self, worker: int) -> int:
        """The rank that is `worker`."""
        return 2 * worker + 1 if worker < self.pairs else worker + self.pairs

    def offsets(self, rcounts: Sequence[int], size: int) -> list[int]:
        """Where the blocks of the workers begin in bytes, and after them the end of the last.

        The block of a worker holds those of its one or two ranks.
        """
        offsets = list(accumulate((count * size for count in rcounts), initial=0))
        pairs = self.pairs
        return offsets[: 2 * pairs : 2] + offsets[2 * pairs :]


def fold(ranks: int) -> Folding:
    """The folding of `ranks` ranks."""
    workers = power_of_two_up_to(ranks)
    return Folding(workers, ranks - workers)
