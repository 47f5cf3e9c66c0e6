"""Allgather: P - 1 exchanges in pairs."""

from __future__ import annotations

from tisim.actions.collectives.preconditions import demand_power_of_two
from tisim.actions.script import Endpoint


def pair(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """In step i exchange blocks with the rank whose number differs by exclusive or with i.

    References
    ----------
    A. Faraj, X. Yuan: Automatic Generation and Tuning of MPI Collective Communication Routines.
    Int. Conf. on Supercomputing, 2005.

    Raises
    ------
    InputError
        When the number of ranks is not a power of two.
    """
    demand_power_of_two(s.size, "allgather algorithm pair")
    rank, sendrecv = s.rank, s.sendrecv
    sent, received = scount * ssize, rcount * rsize
    for step in range(1, s.size):
        sendrecv(rank ^ step, sent, 0, rank ^ step, received, 0)
