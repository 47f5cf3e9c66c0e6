"""Barrier by dissemination."""

from __future__ import annotations

from tisim.actions.script import Endpoint


def ompi_bruck(s: Endpoint) -> None:
    """Tell the rank at distance 1, 2, 4... ahead, hear from the one as far behind.

    Parameters
    ----------
    s
        A rank of the communicator.

    Notes
    -----
    D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization", IJPP 17 (1988);
    Open MPI names it after J. Bruck.
    """
    distance = 1
    while distance < s.size:
        s.sendrecv((s.rank + distance) % s.size, 0, 0, (s.rank - distance) % s.size, 0, 0)
        distance <<= 1
