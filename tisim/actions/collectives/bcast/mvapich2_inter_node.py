"""The inter-node phase of MVAPICH2's two-level broadcast."""

from __future__ import annotations

from tisim.actions.collectives.catalogue import algorithm
from tisim.actions.nodes import nodes
from tisim.actions.script import Endpoint


def mvapich2_inter_node(
    s: Endpoint, count: int, size: int, root: int, *, inter: str = "mpich"
) -> None:
    """Hand the data to the leader of the root's host, and broadcast them among the leaders.

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
    MVAPICH2's `MPIR_Bcast_inter_node_helper_MV2`: A. Mamidala, R. Kumar, D. De, D. K. Panda, "MPI
    collectives on modern multicore clusters: performance optimizations and communication
    characteristics", CCGrid 2008.
    """
    where = nodes(s)
    leader_of_root = where.leader_of(root)
    if where.intra.size > 1 and root != leader_of_root:
        if s.rank == leader_of_root:
            s.recv(root, count * size)
        elif s.rank == root:
            s.send(leader_of_root, count * size)
    if where.leaders is not None:
        algorithm("bcast", inter)(where.leaders, count, size, where.layout.node[root])
