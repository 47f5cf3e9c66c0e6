"""Scatter: blocking messages, one rank after the other."""

from __future__ import annotations

from tisim.actions.script import Endpoint


def ompi_basic_linear(
    s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int
) -> None:
    """The root sends to rank 0, 1, 2...; every other rank receives its block.

    References
    ----------
    Open MPI, ``coll/basic`` and ``coll/tuned``: linear scatter.
    """
    if s.rank != root:
        s.recv(root, rcount * rsize)
        return
    nbytes = scount * ssize
    for peer in range(s.size):
        if peer != root:
            s.send(peer, nbytes)
