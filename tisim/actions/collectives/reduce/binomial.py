"""Reduction along a binomial tree."""

from __future__ import annotations

from tisim.actions.collectives.binomial import reduce_up
from tisim.actions.script import Endpoint


def binomial(s: Endpoint, count: int, size: int, root: int) -> None:
    """Receive from the children of a binomial tree, nearest first, then send to the parent.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.
    root
        The rank that gets the result.

    Notes
    -----
    MPICH's for short messages: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective
    communication operations in MPICH", IJHPCA 19 (2005).
    """
    if count:
        reduce_up(s, count * size, (s.rank - root) % s.size, s.size, root)
