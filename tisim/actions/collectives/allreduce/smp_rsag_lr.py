"""Reduction in two levels: binomial trees on the hosts, a ring of uneven shares among them."""

from __future__ import annotations

from tisim.actions.collectives.blocks import Blocks, blocks_of_hosts
from tisim.actions.script import Endpoint


def smp_rsag_lr(s: Endpoint, count: int, size: int) -> None:
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
    """
    nbytes = count * size
    blocks = blocks_of_hosts(s)
    blocks.reduce_within(nbytes)
    if blocks.core == 0:
        _ring(s, blocks, count, size)
    blocks.bcast_within(nbytes)


def _ring(s: Endpoint, blocks: Blocks, count: int, size: int) -> None:
    """Reduce-scatter, then allgather, around the leaders."""
    share, rest = divmod(count, blocks.number)

    def nbytes(host: int) -> int:
        # The last host has what is left over; where no share holds anything, SimGrid takes
        # every host for the last.
        last = share == 0 or host % blocks.number == blocks.number - 1
        return (share + rest if last else share) * size

    right, left = blocks.neighbours()
    for ahead in (1, 0):
        for step in range(blocks.number - 1):
            sent = blocks.block - ahead - step
            s.sendrecv(right, nbytes(sent), 0, left, nbytes(sent - 1), 0)
