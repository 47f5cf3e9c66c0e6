"""Alltoall: the exchanges of `ring`, each after a barrier."""

from __future__ import annotations

from tisim.actions.script import Endpoint


def ring_mpi_barrier(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """In step i send to the rank i ahead and receive from the rank i behind.

    Before each step, that with itself included, comes the barrier that is chosen.

    References
    ----------
    A. Faraj, X. Yuan: Automatic Generation and Tuning of MPI Collective Communication Routines.
    Int. Conf. on Supercomputing, 2005.
    """
    barrier = s.chosen("barrier")
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    sent, received = scount * ssize, rcount * rsize
    barrier(s)
    for step in range(1, size):
        barrier(s)
        ahead, behind = (rank + step) % size, (rank - step) % size
        sendrecv(ahead, sent, 0, behind, received, 0)
