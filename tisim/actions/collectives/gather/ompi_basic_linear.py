"""Gather: blocking messages, one rank after the other."""

from __future__ import annotations

from tisim.actions.script import Endpoint


def ompi_basic_linear(
    s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int
) -> None:
    """The root receives from rank 0, 1, 2...; every other rank sends its block.

    References
    ----------
    Open MPI, ``coll/basic`` and ``coll/tuned``: linear gather.
    """
    if s.rank != root:
        s.send(root, scount * ssize)
        return
    nbytes = rcount * rsize
    for source in range(s.size):
        if source != root:
            s.recv(source, nbytes)
