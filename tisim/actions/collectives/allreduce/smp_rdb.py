"""Reduction in two levels: binomial trees on the hosts, recursive doubling among them."""

from __future__ import annotations

from tisim.actions.collectives.blocks import blocks_of_hosts
from tisim.actions.collectives.doubling import exchange_all
from tisim.actions.script import Endpoint


def smp_rdb(s: Endpoint, count: int, size: int) -> None:
    """Reduce on each host, exchange among the hosts, broadcast on each host.

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
    if blocks.core == 0:
        exchange_all(s, nbytes, blocks.block, blocks.number, blocks.cores)
    blocks.bcast_within(nbytes)
