"""Allgatherv: P - 1 exchanges with partners at growing distance."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.script import Endpoint


def ring(s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """In step i send the own block i ranks ahead and receive one from i ranks behind.

    References
    ----------
    A. Faraj, X. Yuan: Automatic Generation and Tuning of MPI Collective Communication Routines.
    Int. Conf. on Supercomputing, 2005.
    """
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    sent = scount * ssize
    for step in range(1, size):
        source = (rank - step) % size
        sendrecv((rank + step) % size, sent, 0, source, rcounts[source] * rsize, 0)
