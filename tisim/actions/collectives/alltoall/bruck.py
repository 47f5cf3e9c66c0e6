"""Alltoall: ceil(log2 P) exchanges, blocks are forwarded."""

from __future__ import annotations

from tisim.actions.script import Endpoint


def bruck(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """In step k the blocks whose distance to travel has bit k set go 2^k ranks ahead.

    References
    ----------
    J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby: Efficient Algorithms for All-to-All
    Communications in Multiport Message-Passing Systems. IEEE Trans. Parallel and Distributed
    Systems 8(11), 1997; as in MPICH.

    Notes
    -----
    SimGrid gives a block `scount` elements of `rsize` bytes, too few or fatally many when the types
    of the two sides differ in width; here all of it travels.
    """
    rank, size = s.rank, s.size
    block = scount * ssize
    distance = 1
    while distance < size:
        # how many of 1 to P - 1 have this bit
        whole, part = divmod(size, 2 * distance)
        blocks = whole * distance + max(0, part - distance)
        nbytes = blocks * block
        s.sendrecv((rank + distance) % size, nbytes, 0, (rank - distance) % size, nbytes, 0)
        distance *= 2
