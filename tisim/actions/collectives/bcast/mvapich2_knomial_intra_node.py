"""MVAPICH2's broadcast on a host: a k-nomial tree."""

from __future__ import annotations

from tisim.actions.collectives.topology import knomial_tree
from tisim.actions.nodes import nodes
from tisim.actions.script import Endpoint

_FACTOR = 4


def mvapich2_knomial_intra_node(s: Endpoint, count: int, size: int, root: int) -> None:
    """Receive from the parent of a 4-nomial tree, then send to the children level by level.

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
    MVAPICH2's `MPIR_Knomial_Bcast_intra_node_MV2`: A. Mamidala, R. Kumar, D. De, D. K. Panda, "MPI
    collectives on modern multicore clusters: performance optimizations and communication
    characteristics", CCGrid 2008.
    """
    nodes(s)
    nbytes = count * size
    parent, levels = knomial_tree(s.rank, s.size, root, _FACTOR)
    if parent is not None:
        s.recv(parent, nbytes)
    for level in levels:
        s.waitall([s.isend(child, nbytes) for child in level])
