"""Scatter: the root's messages are on their way at once, the other ranks block."""

from __future__ import annotations

from tisim.actions.collectives.nonblocking import iscatter
from tisim.actions.script import Endpoint


def ompi_linear_nb(
    s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int
) -> None:
    """The root posts a send to rank 0, 1, 2... and waits for all; the others receive.

    References
    ----------
    Open MPI, ``coll/base``: linear non-blocking scatter.
    """
    if s.rank == root:
        s.waitall(iscatter(s, scount, ssize, rcount, rsize, root))
    else:
        s.recv(root, rcount * rsize)
