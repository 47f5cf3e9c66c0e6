"""Broadcast along a binomial tree: log2 P steps, the data are never cut."""

from __future__ import annotations

from tisim.actions.collectives.binomial import bcast_down
from tisim.actions.script import Endpoint


def binomial_tree(s: Endpoint, count: int, size: int, root: int) -> None:
    """Receive from the parent of a binomial tree, then send to the children, farthest first.

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
    The tree that MPICH uses for short messages: R. Thakur, R. Rabenseifner, W. Gropp,
    "Optimization of collective communication operations in MPICH", IJHPCA 19 (2005); SimGrid
    took this one from A. Faraj and X. Yuan's STAR-MPI (ICS 2006).
    """
    bcast_down(s, count * size, (s.rank - root) % s.size, s.size, root)
