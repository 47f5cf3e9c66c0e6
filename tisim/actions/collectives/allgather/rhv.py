"""Allgather: recursive halving of the distance."""

from __future__ import annotations

from tisim.actions.collectives.bits import reversed_bits
from tisim.actions.collectives.preconditions import demand_power_of_two
from tisim.actions.script import Endpoint


def rhv(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Exchange 1, 2, 4... blocks with the rank P/2, P/4, P/8... away.

    Blocks first go to the rank whose number has the bits in reverse order, so that what a rank
    holds is contiguous at every step.

    References
    ----------
    R. Thakur, R. Rabenseifner, W. Gropp: Optimization of Collective Communication Operations in
    MPICH. Int. J. High Performance Computing Applications 19(1), 2005.

    Raises
    ------
    InputError
        When the number of ranks is not a power of two.

    Notes
    -----
    When a block's bytes differ between sender and receiver it is the default allgather.
    """
    demand_power_of_two(s.size, "allgather algorithm rhv")
    rank, size, block = s.rank, s.size, scount * ssize
    if block != rcount * rsize:
        from tisim.actions.collectives.catalogue import algorithm

        algorithm("allgather", "default")(s, scount, ssize, rcount, rsize)
        return
    mirror = reversed_bits(rank, size)
    s.sendrecv(mirror, block, 0, mirror, block, 0)
    blocks, distance = 1, size // 2
    while distance:
        peer = rank ^ distance
        s.sendrecv(peer, blocks * block, 0, peer, blocks * block, 0)
        blocks *= 2
        distance //= 2
