"""Scatter: the root has a block for every rank."""

from __future__ import annotations

from tisim.actions.collectives.catalogue import Algorithm, algorithm
from tisim.actions.collectives.nonblocking import iscatter, iscatterv
from tisim.actions.collectives.trees import in_order_binomial_tree
from tisim.actions.nodes import nodes
from tisim.actions.script import Endpoint


def ompi_basic_linear(
    s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int
) -> None:
    """Linear scatter: blocking messages, in rank order.

    The root sends to rank 0, 1, 2...; every other rank receives its block. Open MPI,
    ``coll/basic`` and ``coll/tuned``: linear scatter.
    """
    if s.rank != root:
        s.recv(root, rcount * rsize)
        return
    nbytes = scount * ssize
    for peer in range(s.size):
        if peer != root:
            s.send(peer, nbytes)


def ompi_linear_nb(
    s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int
) -> None:
    """Linear scatter: non-blocking sends by the root, blocking receives.

    The root posts a send to rank 0, 1, 2... and waits for all; the others receive. Open MPI,
    ``coll/base``: linear non-blocking scatter.
    """
    if s.rank == root:
        s.waitall(iscatter(s, scount, ssize, rcount, rsize, root))
    else:
        s.recv(root, rcount * rsize)


def ompi_binomial(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> None:
    """Scatter along a binomial tree.

    Every rank receives the blocks of its subtree and passes them on, small subtrees first. An
    inner rank's buffer fits the blocks of all ranks. Open MPI, ``coll/tuned``: binomial
    scatter (in-order binomial tree).
    """
    place = (s.rank - root) % s.size
    parent, children = in_order_binomial_tree(s.rank, s.size, root)
    block = rcount * rsize if place else scount * ssize
    if parent is not None:
        s.recv(parent, block if place % 2 else block * s.size)
    for child in children:
        below = (child - root) % s.size
        s.send(child, min(below - place, s.size - below) * block)


def scatter_intervals(s: Endpoint, nbytes: int, root: int) -> None:
    """Send blocks of `nbytes` down a tree whose subtrees are intervals, the largest first.

    `ompi_coll_base_scatter_intra_binomial` and MPICH's `MPIR_Scatter_intra_binomial`.
    """
    place = (s.rank - root) % s.size
    parent, children = in_order_binomial_tree(s.rank, s.size, root)
    if parent is not None:
        s.recv(parent, min(place & -place, s.size - place) * nbytes)
    for child in reversed(children):
        below = (child - root) % s.size
        s.send(child, min(below - place, s.size - below) * nbytes)


def _two_level_scatter(inter: Algorithm, how: str) -> Algorithm:
    """MVAPICH2's two-level scatter; `inter` is the scatter among leaders, which `how` describes."""

    def write(
        s: Endpoint,
        scount: int,
        ssize: int,
        rcount: int,
        rsize: int,
        root: int,
        *,
        intra: str = "mpich",
    ) -> None:
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

    write.__doc__ = f"""Two-level scatter: among the hosts {how}, then on each host.

    The root's blocks reach its host's leader, then all leaders ({how}), then the ranks of each
    host; a single host uses the linear scatter. MVAPICH2: two-level scatter (D. K. Panda's group,
    The Ohio State University). An empty block ends the call; SimGrid checks the argument that is
    not significant (`rcount` on the root, `scount` elsewhere), which is the same unless a trace
    gives the ranks different arguments. If hosts have different numbers of ranks, the leaders use a
    linear scatterv. `intra`: name of the scatter on a host.
    """
    return write


mvapich2_two_level_binomial = _two_level_scatter(ompi_binomial, "along a binomial tree")
mvapich2_two_level_direct = _two_level_scatter(ompi_basic_linear, "in rank order")
