"""Rabenseifner's reduction of long messages, from his own code."""

from __future__ import annotations

from tisim.actions.collectives.rabenseifner import Workers, reduce_scatter_halves
from tisim.actions.script import Endpoint


def rab(s: Endpoint, count: int, size: int) -> None:
    """Halve the vector recursively while reducing it, then double what each rank has.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.

    Notes
    -----
    R. Rabenseifner, "A new optimized MPI reduce and allreduce algorithm", 1997.
    """
    if count == 0 or s.size == 1:
        return
    workers = Workers(s.size)
    steps = reduce_scatter_halves(s, workers, count, size)
    for partner, kept, given in reversed(steps):
        peer = workers.rank(partner)
        s.sendrecv(peer, kept, 0, peer, given, 0)
    if s.rank >= 2 * workers.pairs:
        return
    if s.rank % 2:
        s.recv(s.rank - 1, count * size)
    else:
        s.send(s.rank + 1, count * size)
