"""Reduction in two levels: binomial trees on the hosts, a ring among them."""

from __future__ import annotations

from tisim.actions.collectives.blocks import blocks_of_hosts
from tisim.actions.script import Endpoint


def smp_rsag(s: Endpoint, count: int, size: int) -> None:
    """Reduce on each host, reduce-scatter and allgather around the hosts, broadcast on each.

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
    As there, what the hosts cannot share evenly is not sent.
    """
    nbytes = count * size
    blocks = blocks_of_hosts(s)
    blocks.reduce_within(nbytes)
    if blocks.core == 0:
        share = count // blocks.number * size
        right, left = blocks.neighbours()
        for _ in range(2 * (blocks.number - 1)):
            s.sendrecv(right, share, 0, left, share, 0)
    blocks.bcast_within(nbytes)
