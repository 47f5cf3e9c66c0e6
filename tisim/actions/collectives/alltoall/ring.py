"""Alltoall: P - 1 exchanges with partners at growing distance."""

from __future__ import annotations

from tisim.actions.script import Endpoint


def ring(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """In step i send to the rank i ahead and receive from the rank i behind.

    References
    ----------
    A. Faraj, X. Yuan: Automatic Generation and Tuning of MPI Collective Communication Routines.
    Int. Conf. on Supercomputing, 2005. Other libraries call it pairwise exchange.
    """
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    sent, received = scount * ssize, rcount * rsize
    for step in range(1, size):
        sendrecv((rank + step) % size, sent, 0, (rank - step) % size, received, 0)
