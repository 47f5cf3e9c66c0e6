"""Reduction for short messages by recursive doubling."""

from __future__ import annotations

from tisim.actions.collectives.doubling import exchange_all
from tisim.actions.script import Endpoint


def rdb(s: Endpoint, count: int, size: int) -> None:
    """Exchange the whole vector with ranks at distance 1, 2, 4...

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.

    Notes
    -----
    R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in
    MPICH", IJHPCA 19 (2005).
    """
    exchange_all(s, count * size, s.rank, s.size)
