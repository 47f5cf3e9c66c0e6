"""Alltoallv: the exchanges of `pair`, after one barrier."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.collectives.preconditions import demand_power_of_two
from tisim.actions.script import Endpoint


def pair_one_barrier(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """In step i exchange with the rank whose number differs by exclusive or with i.

    The barrier that is chosen makes all ranks start together.

    References
    ----------
    A. Faraj, X. Yuan: Automatic Generation and Tuning of MPI Collective Communication Routines.
    Int. Conf. on Supercomputing, 2005.

    Raises
    ------
    InputError
        When the number of ranks is not a power of two.
    """
    demand_power_of_two(s.size, "alltoallv algorithm pair_one_barrier")
    s.chosen("barrier")(s)
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    for step in range(1, size):
        peer = rank ^ step
        sendrecv(peer, scounts[peer] * ssize, 0, peer, rcounts[peer] * rsize, 0)
