"""Reduction in two levels: binomial trees on the hosts, recursive halving among them."""

from __future__ import annotations

from tisim.actions.collectives.blocks import Blocks, blocks_of_hosts
from tisim.actions.collectives.preconditions import demand_power_of_two
from tisim.actions.script import Endpoint


def smp_rsag_rab(s: Endpoint, count: int, size: int) -> None:
    """Reduce on each host, halve and double among the hosts, broadcast on each.

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

    Raises
    ------
    InputError
        The number of ranks is not a power of two.
    """
    blocks = blocks_of_hosts(s)
    demand_power_of_two(s.size, "allreduce algorithm smp_rsag_rab")
    blocks.reduce_within(count * size)
    if blocks.core == 0:
        _halve_and_double(s, blocks, count, size)
    blocks.bcast_within(count * size)


def _halve_and_double(s: Endpoint, blocks: Blocks, count: int, size: int) -> None:
    """Exchange ever smaller parts with ever farther leaders, then the other way round."""
    masks = [1 << bit for bit in range(blocks.number.bit_length() - 1)]
    part = count // 2
    for mask in masks:
        peer = (blocks.block ^ mask) * blocks.cores
        s.sendrecv(peer, part * size, 0, peer, part * size, 0)
        part //= 2
    for mask in reversed(masks):
        part *= 2  # less than before where a half was not whole, as in SimGrid
        peer = (blocks.block ^ mask) * blocks.cores
        s.sendrecv(peer, part * size, 0, peer, part * size, 0)
