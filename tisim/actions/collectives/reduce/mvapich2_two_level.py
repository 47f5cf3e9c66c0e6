"""MVAPICH2's reduction in two levels: on each host, then among the hosts' leaders."""

from __future__ import annotations

from tisim.actions.collectives.catalogue import algorithm
from tisim.actions.collectives.reduce.mvapich2_knomial import mvapich2_knomial
from tisim.actions.collectives.reduce.ompi_basic_linear import ompi_basic_linear
from tisim.actions.nodes import Nodes, nodes
from tisim.actions.script import Endpoint

_SHARED_MEMORY = "ompi_basic_linear"  # what stands in for MVAPICH2's shared memory reduction
_SHARED_MEMORY_PER_RANK = 128 << 10
_SHORT = 2048


def mvapich2_two_level(
    s: Endpoint,
    count: int,
    size: int,
    root: int,
    *,
    intra: str = "mpich",
    inter: str = "mpich",
) -> None:
    """Reduce to each host's leader, among the leaders, and send from a leader to the root.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.
    root
        The rank that gets the result.
    intra, inter
        The reductions on a host and among the leaders.

    Notes
    -----
    MVAPICH2's `MPIR_Reduce_two_level_helper_MV2`: A. Mamidala, R. Kumar, D. De, D. K. Panda, "MPI
    collectives on modern multicore clusters: performance optimizations and communication
    characteristics", CCGrid 2008.
    """
    where = nodes(s)
    nbytes = count * size
    if where.intra.size == s.size:
        if nbytes > _SHORT:
            mvapich2_knomial(s, count, size, root)
            return
        ompi_basic_linear(where.intra, count, size, 0)
    else:
        if where.intra.size > 1:
            if intra == _SHARED_MEMORY and nbytes >= where.intra.size * _SHARED_MEMORY_PER_RANK:
                mvapich2_knomial(where.intra, count, size, 0)
            else:
                algorithm("reduce", intra)(where.intra, count, size, 0)
        if where.leaders is not None and where.leaders.size > 1:
            algorithm("reduce", inter)(where.leaders, count, size, where.layout.node[root])
    _hand_to_root(s, where, nbytes, root)


def _hand_to_root(s: Endpoint, where: Nodes, nbytes: int, root: int) -> None:
    """The leader of the root's host sends it the result."""
    leader = where.leader_of(root)
    if leader == root:
        return
    if s.rank == leader:
        s.send(root, nbytes)
    elif s.rank == root:
        s.recv(leader, nbytes)
