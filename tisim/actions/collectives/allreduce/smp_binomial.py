"""Reduction in two levels along binomial trees."""

from __future__ import annotations

from tisim.actions.collectives.blocks import blocks_of_hosts
from tisim.actions.script import Endpoint


def smp_binomial(s: Endpoint, count: int, size: int) -> None:
    """Reduce on each host and among the hosts, then broadcast the same ways back.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.

    Notes
    -----
    From STAR-MPI (A. Faraj, X. Yuan, D. Lowenthal, ICS 2006), for clusters of SMP machines. It
    takes ranks that follow one another to be on one host; with unequal numbers of ranks on the
    hosts, every rank counts as a host. Where the ranks of a host are no power of two, SimGrid's
    mixes up hosts; this one does not.
    """
    nbytes = count * size
    blocks = blocks_of_hosts(s)
    blocks.reduce_within(nbytes)
    blocks.reduce_among(nbytes)
    blocks.bcast_among(nbytes)
    blocks.bcast_within(nbytes)
