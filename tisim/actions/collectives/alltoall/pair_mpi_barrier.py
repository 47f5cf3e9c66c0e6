"""Alltoall: the exchanges of `pair`, each after a barrier."""

from __future__ import annotations

from tisim.actions.collectives.preconditions import demand_power_of_two
from tisim.actions.script import Endpoint


def pair_mpi_barrier(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """In step i exchange with the rank whose number differs by exclusive or with i.

    Before each step, that with itself included, comes the barrier that is chosen.

    References
    ----------
    A. Faraj, X. Yuan: Automatic Generation and Tuning of MPI Collective Communication Routines.
    Int. Conf. on Supercomputing, 2005.

    Raises
    ------
    InputError
        When the number of ranks is not a power of two.
    """
    demand_power_of_two(s.size, "alltoall algorithm pair_mpi_barrier")
    barrier = s.chosen("barrier")
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    sent, received = scount * ssize, rcount * rsize
    barrier(s)
    for step in range(1, size):
        barrier(s)
        peer = rank ^ step
        sendrecv(peer, sent, 0, peer, received, 0)
