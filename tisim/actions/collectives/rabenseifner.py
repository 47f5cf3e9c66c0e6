"""The first half of Rabenseifner's own reductions: a reduce-scatter on a power of two of ranks."""

from __future__ import annotations

from tisim.actions.collectives.halving import Step, halving_elements
from tisim.actions.collectives.topology import power_of_two_up_to
from tisim.actions.script import Endpoint


class Workers:
    """The ranks that do the work: the even ones of the first pairs, and all after the pairs.

    Parameters
    ----------
    ranks
        The number of ranks.

    Attributes
    ----------
    number
        How many they are, the largest power of two up to `ranks`.
    pairs
        How many ranks are left over.
    """

    __slots__ = ("number", "pairs")

    def __init__(self, ranks: int) -> None:
        self.number = power_of_two_up_to(ranks)
        self.pairs = ranks - self.number

    def worker(self, rank: int) -> int | None:
        """The number of `rank` among the workers; None for the odd rank of a pair."""
        if rank >= 2 * self.pairs:
            return rank - self.pairs
        return None if rank % 2 else rank // 2

    def rank(self, worker: int) -> int:
        """The rank that is `worker`."""
        return 2 * worker if worker < self.pairs else worker + self.pairs


def reduce_scatter_halves(s: Endpoint, workers: Workers, count: int, size: int) -> list[Step]:
    """Reduce pairs of ranks to one, then halve the vector recursively; returns the steps made.

    The ranks of a pair swap halves, and the odd one returns the half that it has reduced. Returns
    nothing on the odd ranks of pairs.
    """
    lower, upper = count // 2 * size, (count - count // 2) * size
    worker = workers.worker(s.rank)
    if worker is None:
        s.sendrecv(s.rank - 1, lower, 0, s.rank - 1, upper, 0)
        s.send(s.rank - 1, upper)
        return []
    if worker < workers.pairs:
        s.sendrecv(s.rank + 1, upper, 0, s.rank + 1, lower, 0)
        s.recv(s.rank + 1, upper)
    steps = halving_elements(worker, workers.number, count, size)
    for partner, kept, given in steps:
        peer = workers.rank(partner)
        s.sendrecv(peer, given, 0, peer, kept, 0)
    return steps
