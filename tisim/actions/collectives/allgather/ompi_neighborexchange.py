"""Allgather: exchanges with the two neighbours in turn."""

from __future__ import annotations

from tisim.actions.collectives.allgather.ring import ring
from tisim.actions.script import Endpoint


def ompi_neighborexchange(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
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
        ring(s, scount, ssize, rcount, rsize)
        return
    block = rcount * rsize
    ahead, behind = (rank + 1) % size, (rank - 1) % size
    neighbours = (behind, ahead) if rank % 2 else (ahead, behind)
    s.sendrecv(neighbours[0], block, 0, neighbours[0], block, 0)
    for step in range(1, size // 2):
        peer = neighbours[step % 2]
        s.sendrecv(peer, 2 * block, 0, peer, 2 * block, 0)
