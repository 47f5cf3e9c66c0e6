"""Broadcast in two levels: binomial trees among hosts, then on each host."""

from __future__ import annotations

from tisim.actions.collectives.blocks import Blocks
from tisim.actions.collectives.catalogue import algorithm
from tisim.actions.collectives.pipeline import to_rank_zero
from tisim.actions.nodes import nodes
from tisim.actions.script import Endpoint


def smp_binomial(s: Endpoint, count: int, size: int, root: int) -> None:
    """Send along a binomial tree of the hosts' first ranks, then along one on each host.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.
    root
        The rank that has the data.

    Notes
    -----
    From STAR-MPI (A. Faraj, X. Yuan, D. Lowenthal, ICS 2006), for clusters of SMP machines; the
    MPICH of SimGrid uses it for every uniform communicator. With unequal numbers of ranks on the
    hosts the selector `mpich` decides. Where the ranks of a host are no power of two, SimGrid's
    sends some messages that nobody receives; there are none here.
    """
    layout = nodes(s).layout
    if not layout.uniform:
        algorithm("bcast", "mpich")(s, count, size, root)
        return
    nbytes = count * size
    to_rank_zero(s, nbytes, root)
    blocks = Blocks(s, layout.sizes[0])
    blocks.bcast_among(nbytes)
    blocks.bcast_within(nbytes)
