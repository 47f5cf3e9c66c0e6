"""Gather: the root gets the blocks of all ranks."""

from __future__ import annotations

from tisim.actions.collectives.catalogue import algorithm
from tisim.actions.collectives.nonblocking import igatherv
from tisim.actions.collectives.segments import segment_elements
from tisim.actions.collectives.trees import in_order_binomial_tree
from tisim.actions.nodes import nodes
from tisim.actions.script import Endpoint

_LARGE_BLOCK = 92160  # bytes
_LARGE_SEGMENT = 32768
_SMALL_SEGMENT = 1024


def ompi_basic_linear(
    s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int
) -> None:
    """Linear gather: blocking messages, in rank order.

    The root receives from rank 0, 1, 2...; every other rank sends its block. Open MPI,
    ``coll/basic`` and ``coll/tuned``: linear gather.
    """
    if s.rank != root:
        s.send(root, scount * ssize)
        return
    nbytes = rcount * rsize
    for source in range(s.size):
        if source != root:
            s.recv(source, nbytes)


def ompi_binomial(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> None:
    """Gather along a binomial tree.

    Every rank receives the blocks of its subtrees, small ones first, and passes them on. Open
    MPI, ``coll/tuned``: binomial gather (in-order binomial tree).
    """
    place = (s.rank - root) % s.size
    parent, children = in_order_binomial_tree(s.rank, s.size, root)
    block = scount * ssize if place else rcount * rsize
    total = block
    for child in children:
        below = (child - root) % s.size
        nbytes = min(below - place, s.size - below) * block
        s.recv(child, nbytes)
        total += nbytes
    if parent is not None:
        s.send(parent, total)


def ompi_linear_sync(
    s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int
) -> None:
    """Synchronized linear gather: each rank sends two segments when the root asks for them.

    A rank waits for the root's empty message, then sends its first segment and the rest. The
    root waits for the first segment of a rank before it calls the next one; the second segments
    (empty for small blocks) arrive in the background. Open MPI, ``coll/tuned``: synchronized
    linear gather. SimGrid hangs if one segment is below `smpi/async-small-thresh` and the other
    is not: the second segment's receive matches the first segment.
    """
    sent, received = _segments(scount, ssize), _segments(rcount, rsize)
    gather_linear_sync(s, sent, received, root)


def gather_linear_sync(
    s: Endpoint, sent: tuple[int, int], received: tuple[int, int], root: int
) -> None:
    """Call each rank from the root in turn; `sent`, `received`: bytes of both segments."""
    if s.rank != root:
        s.recv(root, 0)
        s.send(root, sent[0])
        s.send(root, sent[1])
        return
    seconds = []
    for source in range(s.size):
        if source != root:
            first = s.irecv(source, received[0])
            s.send(source, 0)
            seconds.append(s.irecv(source, received[1]))
            s.wait(first)
    s.waitall(seconds)


def _segments(count: int, size: int) -> tuple[int, int]:
    """Bytes of the first segment and of the rest."""
    segment = _LARGE_SEGMENT if count * size > _LARGE_BLOCK else _SMALL_SEGMENT
    first = segment_elements(segment, size, count)
    return first * size, (count - first) * size


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
    """Two-level gather: on each host, then among the hosts.

    Every host's leader gathers its ranks' blocks, the leader of the root's host all leaders'. If
    the root is not a leader, its host's leader sends it everything at the end. MVAPICH2: two-level
    gather (D. K. Panda's group, The Ohio State University). With different numbers of ranks on the
    hosts, SimGrid reads uninitialised counts and crashes; this schedule does what it intends.
    `intra`: name of the gather on a host.
    """
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
