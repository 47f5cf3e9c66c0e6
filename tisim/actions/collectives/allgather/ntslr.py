"""Allgather: blocks travel around a logical ring."""

from __future__ import annotations

from tisim.actions.script import Endpoint


def ntslr(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """P - 1 times send to the next rank what came last, and receive from the one before.

    The ring ignores the topology (non-topology-specific logical ring).

    References
    ----------
    A. Faraj, P. Patarasuk, X. Yuan: Bandwidth Efficient All-to-All Broadcast on Switched
    Clusters. IEEE Int. Conf. on Cluster Computing, 2005.

    Notes
    -----
    When a block's bytes differ between sender and receiver it is the default allgather.
    """
    rank, size, block = s.rank, s.size, scount * ssize
    if block != rcount * rsize:
        from tisim.actions.collectives.catalogue import algorithm

        algorithm("allgather", "default")(s, scount, ssize, rcount, rsize)
        return
    ahead, behind = (rank + 1) % size, (rank - 1) % size
    for _ in range(1, size):
        s.sendrecv(ahead, block, 0, behind, block, 0)
