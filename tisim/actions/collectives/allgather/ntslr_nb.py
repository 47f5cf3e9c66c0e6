"""Allgather: blocks travel around a logical ring, all receives are posted first."""

from __future__ import annotations

from tisim.actions.script import Endpoint


def ntslr_nb(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Like `ntslr`; in each step wait for the block that comes, then for the one that goes.

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
    receives = [s.irecv(behind, block) for _ in range(1, size)]
    for receive in receives:
        send = s.isend(ahead, block)
        s.wait(receive)
        s.wait(send)
