"""Reduction for long messages around a logical ring."""

from __future__ import annotations

from tisim.actions.collectives.allreduce.redbcast import redbcast
from tisim.actions.script import Endpoint


def lr(s: Endpoint, count: int, size: int) -> None:
    """Reduce-scatter around the ring of the ranks, then pass the blocks around it again.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.

    Notes
    -----
    P. Patarasuk, X. Yuan, "Bandwidth efficient all-reduce operation on tree topologies", IPDPS 2007
    (STAR-MPI). Fewer elements than ranks go to `redbcast`, and what cannot be shared evenly to the
    reduction that the configuration names.
    """
    if count < s.size:
        redbcast(s, count, size)
        return
    nbytes = count // s.size * size
    right, left = (s.rank + 1) % s.size, (s.rank - 1) % s.size
    for _ in range(2 * (s.size - 1)):
        s.sendrecv(right, nbytes, 0, left, nbytes, 0)
    if count % s.size:
        s.chosen("allreduce")(s, count % s.size, size)
