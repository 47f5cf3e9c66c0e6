"""Alltoall: the exchanges of `ring`, after one barrier."""

from __future__ import annotations

from tisim.actions.script import Endpoint


def ring_one_barrier(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """In step i send to the rank i ahead and receive from the rank i behind.

    The barrier that is chosen makes all ranks start together.

    References
    ----------
    A. Faraj, X. Yuan: Automatic Generation and Tuning of MPI Collective Communication Routines.
    Int. Conf. on Supercomputing, 2005.
    """
    s.chosen("barrier")(s)
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    sent, received = scount * ssize, rcount * rsize
    for step in range(1, size):
        ahead, behind = (rank + step) % size, (rank - step) % size
        sendrecv(ahead, sent, 0, behind, received, 0)
