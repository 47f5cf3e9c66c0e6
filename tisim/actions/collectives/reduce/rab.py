"""Rabenseifner's reduction of long messages, from his own code."""

from __future__ import annotations

from tisim.actions.collectives.halving import halving_elements
from tisim.actions.collectives.rabenseifner import Workers, reduce_scatter_halves
from tisim.actions.script import Endpoint


def rab(s: Endpoint, count: int, size: int, root: int) -> None:
    """Halve the vector recursively while reducing it, then collect the parts at the root.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.
    root
        The rank that gets the result.

    Notes
    -----
    R. Rabenseifner, "A new optimized MPI reduce and allreduce algorithm", 1997. In the second half
    his code lets a rank that has sent its part away go on collecting, as if the root were another.
    """
    if count == 0 or s.size == 1:
        return
    workers = Workers(s.size)
    steps = reduce_scatter_halves(s, workers, count, size)
    worker = workers.worker(s.rank)
    head = workers.worker(root)
    if head is None:  # the root takes the place of the first worker
        head = 0
        if s.rank == root:
            worker = 0
            steps = halving_elements(0, workers.number, count, size)
            s.recv(0, steps[-1].kept)
        elif worker == 0:
            s.send(root, steps[-1].kept)
            return
    if worker is None:
        return
    for bit in range(len(steps) - 1, -1, -1):
        partner, kept, given = steps[bit]
        peer = root if partner == head else workers.rank(partner)
        if (worker ^ head) >> bit & 1:
            s.send(peer, kept)
        else:
            s.recv(peer, given)
