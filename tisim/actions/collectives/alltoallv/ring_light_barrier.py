"""Alltoallv: the exchanges of `ring`, each after a message that its partner is ready."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.script import Endpoint


def ring_light_barrier(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """In step i send to the rank i ahead and receive from the rank i behind.

    Before each exchange but the first, one byte tells the sender to go on.

    References
    ----------
    A. Faraj, X. Yuan: Automatic Generation and Tuning of MPI Collective Communication Routines.
    Int. Conf. on Supercomputing, 2005.
    """
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    for step in range(1, size):
        ahead, behind = (rank + step) % size, (rank - step) % size
        if step > 1:
            sendrecv(behind, 1, 0, ahead, 1, 0)
        sendrecv(ahead, scounts[ahead] * ssize, 0, behind, rcounts[behind] * rsize, 0)
