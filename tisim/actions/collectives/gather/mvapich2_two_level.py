"""Gather: on every host first, then among the hosts."""

from __future__ import annotations

from tisim.actions.collectives.gather.ompi_basic_linear import ompi_basic_linear
from tisim.actions.collectives.nonblocking import igatherv
from tisim.actions.nodes import nodes
from tisim.actions.script import Endpoint


def mvapich2_two_level(
    s: Endpoint,
    scount: int,
    ssize: int,
    rcount: int,
    rsize: int,
    root: int,
    *,
    intra: str = "mpich",
) -> None:
    """Every host's leader gathers its ranks' blocks, the leader of the root's host all leaders'.

    Where the root is not a leader, its host's leader sends it everything at the end.

    Parameters
    ----------
    s, scount, ssize, rcount, rsize, root
        See the package.
    intra
        Name of the gather on a host.

    References
    ----------
    MVAPICH2: two-level gather (D. K. Panda's group, The Ohio State University).

    Notes
    -----
    With different numbers of ranks on the hosts SimGrid reads counts that it never filled in and
    crashes; what is written here is what it intends.
    """
    from tisim.actions.collectives.catalogue import algorithm

    found = nodes(s)
    block = rcount * rsize if s.rank == root else scount * ssize
    if (rcount if s.rank == root else scount) == 0:
        return
    algorithm("gather", intra)(found.intra, scount, ssize, block, 1, 0)
    leader = found.leader_of(root)
    if found.leaders is not None:
        sizes = found.layout.sizes
        leader_root = found.layout.node[root]
        gathered = block * found.intra.size
        if found.layout.uniform:
            ompi_basic_linear(found.leaders, gathered, 1, gathered, 1, leader_root)
        else:
            found.leaders.waitall(igatherv(found.leaders, gathered, 1, sizes, block, leader_root))
    if s.rank == leader != root:
        s.send(root, block * s.size)
    if s.rank == root != leader:
        s.recv(leader, block * s.size)
