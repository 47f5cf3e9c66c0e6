"""Alltoallv: P - 1 exchanges, in pairs where that is possible."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.collectives.alltoallv.pair import pair
from tisim.actions.collectives.preconditions import is_power_of_two
from tisim.actions.script import Endpoint


def ring(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """In step i send to the rank i ahead and receive from the rank i behind.

    With a power of two of ranks it is `pair`.

    References
    ----------
    A. Faraj, X. Yuan: Automatic Generation and Tuning of MPI Collective Communication Routines.
    Int. Conf. on Supercomputing, 2005; the choice is MPICH's pairwise exchange.
    """
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    if is_power_of_two(size):
        pair(s, scounts, ssize, rcounts, rsize)
        return
    for step in range(1, size):
        ahead, behind = (rank + step) % size, (rank - step) % size
        sendrecv(ahead, scounts[ahead] * ssize, 0, behind, rcounts[behind] * rsize, 0)
