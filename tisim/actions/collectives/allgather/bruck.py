"""Allgather: ceil(log2 P) exchanges of a growing number of blocks."""

from __future__ import annotations

from tisim.actions.script import Endpoint


def bruck(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Send all blocks held to ranks 1, 2, 4... behind; the last step carries what is missing.

    References
    ----------
    J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby: Efficient Algorithms for All-to-All
    Communications in Multiport Message-Passing Systems. IEEE Trans. Parallel and Distributed
    Systems 8(11), 1997; as in MPICH.
    """
    rank, size = s.rank, s.size
    block = rcount * rsize
    distance = 1
    while distance < size:
        nbytes = min(distance, size - distance) * block
        s.sendrecv((rank - distance) % size, nbytes, 0, (rank + distance) % size, nbytes, 0)
        distance *= 2
