"""Allgather: a gather and a broadcast."""

from __future__ import annotations

from tisim.actions.script import Endpoint


def gb(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Rank 0 gathers all blocks and broadcasts them, with the algorithms chosen for these.

    References
    ----------
    A. Faraj, X. Yuan: Automatic Generation and Tuning of MPI Collective Communication Routines.
    Int. Conf. on Supercomputing, 2005.
    """
    s.chosen("gather")(s, scount, ssize, rcount, rsize, 0)
    s.chosen("bcast")(s, rcount * s.size, rsize, 0)
