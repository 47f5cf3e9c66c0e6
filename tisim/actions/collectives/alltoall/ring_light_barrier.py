"""Alltoall: the exchanges of `ring`, each after a message that its partner is ready."""

from __future__ import annotations

from tisim.actions.script import Endpoint


def ring_light_barrier(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """In step i send to the rank i ahead and receive from the rank i behind.

    Before each exchange but the first, one byte tells the sender to go on.

    References
    ----------
    A. Faraj, X. Yuan: Automatic Generation and Tuning of MPI Collective Communication Routines.
    Int. Conf. on Supercomputing, 2005.
    """
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    sent, received = scount * ssize, rcount * rsize
    for step in range(1, size):
        ahead, behind = (rank + step) % size, (rank - step) % size
        if step > 1:
            sendrecv(behind, 1, 0, ahead, 1, 0)
        sendrecv(ahead, sent, 0, behind, received, 0)
