"""Alltoallv: the exchanges of `pair`, each after a message that its partner is ready."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.collectives.preconditions import demand_power_of_two
from tisim.actions.script import Endpoint


def pair_light_barrier(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """In step i exchange with the rank whose number differs by exclusive or with i.

    Before each exchange but the first, one byte tells the partner to go on.

    References
    ----------
    A. Faraj, X. Yuan: Automatic Generation and Tuning of MPI Collective Communication Routines.
    Int. Conf. on Supercomputing, 2005.

    Raises
    ------
    InputError
        When the number of ranks is not a power of two.
    """
    demand_power_of_two(s.size, "alltoallv algorithm pair_light_barrier")
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    for step in range(1, size):
        peer = rank ^ step
        if step > 1:
            sendrecv(peer, 1, 0, peer, 1, 0)
        sendrecv(peer, scounts[peer] * ssize, 0, peer, rcounts[peer] * rsize, 0)
