"""Allgatherv: exchanges with the two neighbours in turn."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.collectives.allgatherv.ring import ring
from tisim.actions.script import Endpoint


def ompi_neighborexchange(
    s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """P/2 steps: one block in the first, then the two blocks that came last.

    References
    ----------
    J. Chen, L. Zhang, Y. Zhang, W. Yuan: Performance Evaluation of Allgather Algorithms on
    Terascale Linux Cluster with Fast Ethernet. HPC Asia, 2005; as in Open MPI.

    Notes
    -----
    An odd number of ranks takes `ring`.
    """
    rank, size = s.rank, s.size
    if size % 2:
        ring(s, scount, ssize, rcounts, rsize)
        return
    ahead, behind = (rank + 1) % size, (rank - 1) % size
    neighbours = (behind, ahead) if rank % 2 else (ahead, behind)
    first = neighbours[0]
    s.sendrecv(first, rcounts[rank] * rsize, 0, first, rcounts[first] * rsize, 0)
    # Blocks travel in pairs that begin with an even rank's: the last pair received goes on.
    held = rank - rank % 2
    pairs = [held, held]
    strides = (-2, 2) if rank % 2 else (2, -2)
    for step in range(1, size // 2):
        way = step % 2
        pairs[way] = (pairs[way] + strides[way]) % size
        sent = rcounts[held] + rcounts[held + 1]
        held = pairs[way]
        received = rcounts[held] + rcounts[held + 1]
        s.sendrecv(neighbours[way], sent * rsize, 0, neighbours[way], received * rsize, 0)
