"""Rabenseifner's reduction for long messages, as MPICH has it."""

from __future__ import annotations

from tisim.actions.collectives.halving import halving_blocks
from tisim.actions.collectives.reduce_scatter.folding import fold
from tisim.actions.script import Endpoint


def rab_rdb(s: Endpoint, count: int, size: int) -> None:
    """Reduce-scatter by recursive halving, then allgather by recursive doubling.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.

    Notes
    -----
    R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in
    MPICH", IJHPCA 19 (2005). Ranks beyond a power of two hand their data to a neighbour first.
    """
    nbytes = count * size
    folding = fold(s.size)
    worker = folding.worker(s.rank)
    if worker is None:
        s.send(s.rank + 1, nbytes)
        s.recv(s.rank + 1, nbytes)
        return
    if worker < folding.pairs:
        s.recv(s.rank - 1, nbytes)
    steps = halving_blocks(worker, folding.workers, count, size)
    for partner, kept, given in steps:
        peer = folding.rank(partner)
        s.sendrecv(peer, given, 0, peer, kept, 0)
    for partner, kept, given in reversed(steps):
        peer = folding.rank(partner)
        s.sendrecv(peer, kept, 0, peer, given, 0)
    if worker < folding.pairs:
        s.send(s.rank - 1, nbytes)
