"""Broadcast without a tree: the root sends to everybody."""

from __future__ import annotations

from tisim.actions.script import Endpoint


def flattree(s: Endpoint, count: int, size: int, root: int) -> None:
    """The root starts a send to every other rank and waits for all.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.
    root
        The rank that has the data.

    Notes
    -----
    The linear broadcast of A. Faraj and X. Yuan, "Automatic generation and tuning of MPI
    collective communication routines", ICS 2005 (STAR-MPI), which SimGrid took over.
    """
    nbytes = count * size
    if s.rank != root:
        s.recv(root, nbytes)
    else:
        s.waitall([s.isend(other, nbytes) for other in range(s.size) if other != root])
