"""Reduce-scatter: butterfly."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.collectives.bits import reversed_bits
from tisim.actions.collectives.reduce_scatter.folding import Folding, fold
from tisim.actions.script import Endpoint


def ompi_butterfly(s: Endpoint, rcounts: Sequence[int], size: int) -> None:
    """Exchange half of what is left with the rank 1, 2, 4... away; then blocks go to their ranks.

    The blocks end up at the rank whose number has the bits in reverse order. With a number of
    ranks that is not a power of two some hand their data to a neighbour first.

    References
    ----------
    J. L. Träff: An Improved Algorithm for (Non-commutative) Reduce-scatter with an Application.
    EuroPVM/MPI, 2005; as in Open MPI.
    """
    rank, ranks = s.rank, s.size
    if ranks < 2:
        return
    folding = fold(ranks)
    worker = folding.worker(rank)
    if worker is None:
        s.send(rank + 1, sum(rcounts) * size)
        s.recv(folding.rank(reversed_bits(rank // 2, folding.workers)), rcounts[rank] * size)
        return
    if rank < 2 * folding.pairs:
        s.recv(rank - 1, sum(rcounts) * size)
    _butterfly(s, worker, folding, folding.offsets(rcounts, size))
    _deliver(s, worker, folding, rcounts, size)


def _butterfly(s: Endpoint, worker: int, folding: Folding, offsets: Sequence[int]) -> None:
    """The exchanges of one worker; of the blocks left the first is `low`."""
    low, blocks = 0, folding.workers
    distance = 1
    while distance < folding.workers:
        blocks //= 2
        middle = low + blocks
        lower, upper = offsets[middle] - offsets[low], offsets[middle + blocks] - offsets[middle]
        keeps_lower = not worker & distance
        sent, received = (upper, lower) if keeps_lower else (lower, upper)
        peer = folding.rank(worker ^ distance)
        s.sendrecv(peer, sent, 0, peer, received, 0)
        if not keeps_lower:
            low = middle
        distance *= 2


def _deliver(s: Endpoint, worker: int, folding: Folding, rcounts: Sequence[int], size: int) -> None:
    """The block that `worker` holds goes to its one or two ranks, its own comes from another."""
    owner = reversed_bits(worker, folding.workers)
    peer = folding.rank(owner)
    if owner < folding.pairs:
        s.send(peer - 1, rcounts[peer - 1] * size)
    if owner != worker:
        s.sendrecv(peer, rcounts[peer] * size, 0, peer, rcounts[s.rank] * size, 0)
