"""Allgatherv: ceil(log2 P) exchanges of a growing number of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from tisim.actions.script import Endpoint


def ompi_bruck(s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """Send all blocks held to ranks 1, 2, 4... behind; the last step carries what is missing.

    References
    ----------
    J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby: Efficient Algorithms for All-to-All
    Communications in Multiport Message-Passing Systems. IEEE Trans. Parallel and Distributed
    Systems 8(11), 1997; as in Open MPI.
    """
    rank, size = s.rank, s.size
    offsets = list(accumulate((count * rsize for count in (*rcounts, *rcounts)), initial=0))
    distance = 1
    while distance < size:
        blocks = min(distance, size - distance)
        source = (rank + distance) % size
        sent = offsets[rank + blocks] - offsets[rank]
        received = offsets[source + blocks] - offsets[source]
        s.sendrecv((rank - distance) % size, sent, 0, source, received, 0)
        distance *= 2
