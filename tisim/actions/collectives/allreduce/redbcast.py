"""Reduction to rank 0 and broadcast from it."""

from __future__ import annotations

from tisim.actions.script import Endpoint


def redbcast(s: Endpoint, count: int, size: int) -> None:
    """Call the reduction and the broadcast that the configuration names.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.

    Notes
    -----
    From STAR-MPI (A. Faraj, X. Yuan, D. Lowenthal, ICS 2006).
    """
    s.chosen("reduce")(s, count, size, 0)
    s.chosen("bcast")(s, count, size, 0)
