"""Alltoallv: the exchanges of `ring`, after one barrier."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.script import Endpoint


def ring_one_barrier(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """In step i send to the rank i ahead and receive from the rank i behind.

    The barrier that is chosen makes all ranks start together.

    References
    ----------
    A. Faraj, X. Yuan: Automatic Generation and Tuning of MPI Collective Communication Routines.
    Int. Conf. on Supercomputing, 2005.
    """
    s.chosen("barrier")(s)
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    for step in range(1, size):
        ahead, behind = (rank + step) % size, (rank - step) % size
        sendrecv(ahead, scounts[ahead] * ssize, 0, behind, rcounts[behind] * rsize, 0)
