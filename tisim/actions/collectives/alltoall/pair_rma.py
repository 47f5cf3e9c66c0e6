"""Alltoall: one-sided, every rank puts its blocks into the others' memory."""

from __future__ import annotations

from tisim.actions.collectives.preconditions import demand_power_of_two
from tisim.actions.script import Endpoint

_HANDLE = 8  # bytes by which the ranks make their windows known
_PUT_TAG = 2  # keeps the puts apart from the messages of the calls around them


def pair_rma(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Put a block to all ranks, in the order of the exchanges of `pair`, between two fences.

    Making the window is an allgather, a fence two barriers, freeing the window two more; all
    with the algorithms chosen. A target's share is to wait, at the second fence, for what was
    put: its receives, posted at the start, let every put go at once.

    References
    ----------
    A. Faraj, X. Yuan: Automatic Generation and Tuning of MPI Collective Communication Routines.
    Int. Conf. on Supercomputing, 2005; the one-sided form is SimGrid's.

    Raises
    ------
    InputError
        When the number of ranks is not a power of two.

    Notes
    -----
    A put never waits for its target. With sending and receiving overheads other than 0, one
    that is too large to be detached is charged none here, in SimGrid those of a detached one.
    """
    demand_power_of_two(s.size, "alltoall algorithm pair_rma")
    barrier = s.chosen("barrier")
    peers = [s.rank ^ step for step in range(1, s.size)]
    block = scount * ssize
    arrivals = [s.irecv(peer, block, _PUT_TAG) for peer in peers]
    s.chosen("allgather")(s, _HANDLE, 1, _HANDLE, 1)
    barrier(s)
    barrier(s)
    puts = [s.isend(peer, block, _PUT_TAG) for peer in peers]
    barrier(s)
    s.waitall(arrivals)
    barrier(s)
    barrier(s)
    barrier(s)
    s.waitall(puts)
