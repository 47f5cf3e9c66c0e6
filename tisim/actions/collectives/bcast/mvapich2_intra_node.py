"""MVAPICH2's untuned broadcast, which decides whether it has two levels."""

from __future__ import annotations

from tisim.actions.collectives.bcast.binomial_tree import binomial_tree
from tisim.actions.collectives.bcast.mvapich2_inter_node import mvapich2_inter_node
from tisim.actions.collectives.bcast.mvapich2_knomial_intra_node import (
    mvapich2_knomial_intra_node,
)
from tisim.actions.collectives.bcast.scatter_lr_allgather import scatter_lr_allgather
from tisim.actions.collectives.catalogue import algorithm
from tisim.actions.nodes import nodes
from tisim.actions.script import Endpoint

_MANY_RANKS = 64
_SHORT, _LONG = 16 << 10, 512 << 10
_KNOMIAL_FROM = 128 << 10


def mvapich2_intra_node(
    s: Endpoint, count: int, size: int, root: int, *, inter: str = "mpich"
) -> None:
    """Two levels on many ranks or for medium messages, one otherwise.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.
    root
        The rank that has the data.
    inter
        The broadcast among the leaders.

    Notes
    -----
    MVAPICH2's `MPIR_Bcast_intra_MV2`: A. Mamidala, R. Kumar, D. De, D. K. Panda, "MPI collectives
    on modern multicore clusters: performance optimizations and communication characteristics",
    CCGrid 2008. As in SimGrid, the broadcast on a host of up to 128 KiB starts at the root's
    number, not at the leader; here that number is taken modulo the ranks of the host.
    """
    nbytes = count * size
    if count == 0:
        return
    where = nodes(s)
    if s.size > _MANY_RANKS or _SHORT < nbytes < _LONG:
        mvapich2_inter_node(s, count, size, root, inter=inter)
        if nbytes <= _KNOMIAL_FROM:
            algorithm("bcast", "mpich")(where.intra, count, size, root % where.intra.size)
        else:
            mvapich2_knomial_intra_node(where.intra, count, size, 0)
    elif nbytes <= _SHORT:
        binomial_tree(s, count, size, root)
    else:
        scatter_lr_allgather(s, count, size, root)
