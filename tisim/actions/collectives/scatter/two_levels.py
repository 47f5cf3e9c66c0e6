"""The scatter on two levels that MVAPICH2 has in two forms: among the hosts, then on each."""

from __future__ import annotations

from collections.abc import Callable

from tisim.actions.collectives.nonblocking import iscatterv
from tisim.actions.collectives.scatter.ompi_basic_linear import ompi_basic_linear
from tisim.actions.nodes import nodes
from tisim.actions.script import Endpoint


def scatter_on_two_levels(
    s: Endpoint,
    scount: int,
    ssize: int,
    rcount: int,
    rsize: int,
    root: int,
    inter: Callable[[Endpoint, int, int, int, int, int], None],
    intra: str,
) -> None:
    """The root's blocks reach its host's leader, then all leaders, then the ranks of each host.

    Parameters
    ----------
    s, scount, ssize, rcount, rsize, root
        See the package.
    inter
        The scatter among the leaders when all hosts have the same number of ranks; otherwise it
        is a linear scatterv.
    intra
        Name of the scatter on a host.

    Notes
    -----
    Within a single host it is the linear scatter. An empty block ends the call; SimGrid asks the
    argument that does not count (`rcount` on the root, `scount` elsewhere), which is the same
    unless a trace gives the ranks different arguments.
    """
    from tisim.actions.collectives.catalogue import algorithm

    found = nodes(s)
    block = scount * ssize if s.rank == root else rcount * rsize
    if (scount if s.rank == root else rcount) == 0:
        return
    if found.intra.size == s.size:
        ompi_basic_linear(s, scount, ssize, rcount, rsize, root)
        return
    leader = found.leader_of(root)
    if s.rank == leader != root:
        s.recv(root, block * s.size)
    if s.rank == root != leader:
        s.send(leader, block * s.size)
    if found.leaders is not None:
        leader_root = found.layout.node[root]
        mine = block * found.intra.size
        if found.layout.uniform:
            inter(found.leaders, mine, 1, mine, 1, leader_root)
        else:
            sizes = found.layout.sizes
            found.leaders.waitall(iscatterv(found.leaders, sizes, block, mine, 1, leader_root))
    algorithm("scatter", intra)(found.intra, block, 1, rcount, rsize, 0)
