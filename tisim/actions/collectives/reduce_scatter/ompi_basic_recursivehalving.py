"""Reduce-scatter: recursive halving."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.collectives.reduce_scatter.folding import Folding, fold
from tisim.actions.script import Endpoint


def ompi_basic_recursivehalving(s: Endpoint, rcounts: Sequence[int], size: int) -> None:
    """Exchange half of what is left with the rank P/2, P/4, P/8... away.

    With a number of ranks that is not a power of two some hand their data to a neighbour first
    and get their block at the end. Nothing happens when there is nothing to reduce.

    References
    ----------
    R. Thakur, R. Rabenseifner, W. Gropp: Optimization of Collective Communication Operations in
    MPICH. Int. J. High Performance Computing Applications 19(1), 2005; as in Open MPI.

    Notes
    -----
    Where one of the two halves is empty SimGrid does not exchange the other one either.
    """
    if not any(rcounts):
        return
    rank, folding = s.rank, fold(s.size)
    worker = folding.worker(rank)
    paired = rank < 2 * folding.pairs
    if worker is None:
        s.send(rank + 1, sum(rcounts) * size)
    else:
        if paired:
            s.recv(rank - 1, sum(rcounts) * size)
        _halve(s, worker, folding, folding.offsets(rcounts, size))
    if paired:
        if worker is None:
            if rcounts[rank]:
                s.recv(rank + 1, rcounts[rank] * size)
        elif rcounts[rank - 1]:
            s.send(rank - 1, rcounts[rank - 1] * size)


def _halve(s: Endpoint, worker: int, folding: Folding, offsets: Sequence[int]) -> None:
    """The exchanges of one worker; the blocks from `low` to `high` are left."""
    low, high = 0, folding.workers
    distance = folding.workers // 2
    while distance:
        middle = low + distance
        lower, upper = offsets[middle] - offsets[low], offsets[high] - offsets[middle]
        keeps_lower = not worker & distance
        sent, received = (upper, lower) if keeps_lower else (lower, upper)
        if sent and received:
            peer = folding.rank(worker ^ distance)
            request = s.irecv(peer, received)
            s.send(peer, sent)
            s.wait(request)
        low, high = (low, middle) if keeps_lower else (middle, high)
        distance //= 2
