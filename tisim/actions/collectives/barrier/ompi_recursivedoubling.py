"""Barrier by recursive doubling."""

from __future__ import annotations

from tisim.actions.collectives.topology import power_of_two_up_to
from tisim.actions.script import Endpoint


def ompi_recursivedoubling(s: Endpoint) -> None:
    """Exchange with ranks at distance 1, 2, 4...; the ranks beyond a power of two have a proxy.

    Parameters
    ----------
    s
        A rank of the communicator.

    Notes
    -----
    Open MPI's `coll/base` (`barrier_intra_recursivedoubling`), and MVAPICH2's pairwise exchange:
    R. Gupta, V. Tipparaju, J. Nieplocha, D. K. Panda, "Efficient barrier using remote memory
    operations on VIA-based clusters", Cluster 2002.
    """
    inside = power_of_two_up_to(s.size)
    if s.rank >= inside:
        s.sendrecv(s.rank - inside, 0, 0, s.rank - inside, 0, 0)
        return
    proxy = s.rank + inside < s.size
    if proxy:
        s.recv(s.rank + inside, 0)
    distance = 1
    while distance < inside:
        s.sendrecv(s.rank ^ distance, 0, 0, s.rank ^ distance, 0, 0)
        distance <<= 1
    if proxy:
        s.send(s.rank + inside, 0)
