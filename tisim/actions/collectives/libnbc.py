"""Non-blocking collectives of Open MPI's component `coll/libnbc`, in rounds.

A round consists of the messages up to a `waitall`, or up to a `pause` where the library only copies
or reduces first. The call starts the first round; the library starts the next one when the round is
complete and its rank waits, tests or probes. Each function names the file of Open MPI 4.1.4 that it
follows. The algorithms are the library's defaults for commutative reductions and buffers that are
not in place.
"""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.collectives import nonblocking
from tisim.actions.collectives.allreduce import rab
from tisim.actions.collectives.barrier import ompi_bruck
from tisim.actions.collectives.halving import power_of_two_up_to
from tisim.actions.collectives.reduce import by_halves
from tisim.actions.collectives.trees import binomial_tree, in_order_binomial_tree
from tisim.actions.script import Rounds, Script

# An allreduce of at least these bytes on at least these ranks halves the vector; a broadcast on
# more than these ranks uses a tree.
_LONG_ALLREDUCE = 65536
_FEW_RANKS = 4

igather, igatherv = nonblocking.igather, nonblocking.igatherv
iscatter, iscatterv = nonblocking.iscatter, nonblocking.iscatterv


def ibarrier(s: Script) -> None:
    """Dissemination (`nbc_ibarrier.c`)."""
    ompi_bruck(Rounds(s))


def ibcast(s: Script, count: int, size: int, root: int) -> None:
    """Linear, or a binomial tree (`nbc_ibcast.c`, which ignores the size by default)."""
    if s.size < 2 or count == 0:
        return
    if s.size <= _FEW_RANKS:
        nonblocking.ibcast(s, count, size, root)
    else:
        _bcast_down_tree(s, count * size, root)


def _swapped(rank: int, root: int) -> int:
    """Map a rank to its place in a tree, and back: the root and rank 0 are swapped."""
    return {0: root, root: 0}.get(rank, rank)


def _bcast_down_tree(s: Script, nbytes: int, root: int) -> None:
    """Receive from the parent, then send to all children at once, nearest first."""
    parent, children = binomial_tree(_swapped(s.rank, root), s.size, 0)
    if parent is not None:
        s.waitall([s.irecv(_swapped(parent, root), nbytes)])
    for child in children:
        s.isend(_swapped(child, root), nbytes)


def _reduce_up_tree(s: Script, nbytes: int, root: int) -> int | None:
    """Receive from each child in turn, then send to the parent; returns the send, if any."""
    parent, children = in_order_binomial_tree(_swapped(s.rank, root), s.size, 0)
    for child in children:
        s.waitall([s.irecv(_swapped(child, root), nbytes)])
    return None if parent is None else s.isend(_swapped(parent, root), nbytes)


def ireduce(s: Script, count: int, size: int, root: int) -> None:
    """Rabenseifner's algorithm, or a binomial tree for short vectors (`nbc_ireduce.c`)."""
    if s.size < 2 or count == 0:
        return
    if s.size == 2 and count * size >= _LONG_ALLREDUCE:
        _reduce_chain(s, count, size, root)
    elif s.size == 2 or count < power_of_two_up_to(s.size):
        _reduce_up_tree(s, count * size, root)
    else:
        s.pause()  # an earlier round copies the data of the first send
        by_halves(Rounds(s), count, size, root)


_CHAIN_FRAGMENT = 8192


def _reduce_chain(s: Script, count: int, size: int, root: int) -> None:
    """Send fragment after fragment between two ranks."""
    fragments = -(-count * size // _CHAIN_FRAGMENT)
    each = count // fragments
    for fragment in range(fragments):
        elements = each if fragment < fragments - 1 else count - each * fragment
        if s.rank == root:
            s.waitall([s.irecv(1 - root, elements * size)])
        else:
            s.waitall([s.isend(root, elements * size)])


def iallreduce(s: Script, count: int, size: int) -> None:
    """Binomial tree up and down, Rabenseifner's algorithm, or a ring (`nbc_iallreduce.c`)."""
    if s.size < 2 or count == 0:
        return
    if s.size < _FEW_RANKS or count * size < _LONG_ALLREDUCE:
        _allreduce_tree(s, count * size)
    elif count >= power_of_two_up_to(s.size):
        s.pause()
        rab(Rounds(s), count, size)
    else:
        _allreduce_ring(s, count, size)


def _allreduce_tree(s: Script, nbytes: int) -> None:
    sent = _reduce_up_tree(s, nbytes, 0)
    if sent is None:
        _bcast_down_tree(s, nbytes, 0)
        return
    parent, children = binomial_tree(s.rank, s.size, 0)
    assert parent is not None
    s.waitall([sent, s.irecv(parent, nbytes)])
    for child in children:
        s.isend(child, nbytes)


def _allreduce_ring(s: Script, count: int, size: int) -> None:
    """Reduce-scatter and allgather around a ring; the first ranks have the remaining elements."""
    each, left = divmod(count, s.size)

    def nbytes(part: int) -> int:
        return (each + (part % s.size < left)) * size

    for step in range(2 * s.size - 2):
        sent = s.isend((s.rank + 1) % s.size, nbytes(s.rank + 1 - step))
        received = s.irecv((s.rank - 1) % s.size, nbytes(s.rank - step))
        s.waitall([sent, received])


def iallgather(s: Script, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Receive from and send to all others, in rank order (`nbc_iallgather.c`)."""
    for other in range(s.size):
        if other != s.rank:
            s.irecv(other, rcount * rsize)
            s.isend(other, scount * ssize)


def iallgatherv(s: Script, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """Receive from below and send to above, at growing distance (`nbc_iallgatherv.c`)."""
    for distance in range(1, s.size):
        source = (s.rank - distance) % s.size
        s.irecv(source, rcounts[source] * rsize)
        s.isend((s.rank + distance) % s.size, scount * ssize)


def ialltoall(s: Script, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Receive from and send to all others, in rank order (`nbc_ialltoall.c`)."""
    iallgather(s, scount, ssize, rcount, rsize)


def ialltoallv(
    s: Script, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """Send to and receive from all others, in rank order; nothing empty (`nbc_ialltoallv.c`)."""
    for other in range(s.size):
        if other != s.rank and scounts[other] > 0:
            s.isend(other, scounts[other] * ssize)
        if other != s.rank and rcounts[other] > 0:
            s.irecv(other, rcounts[other] * rsize)


def ireduce_scatter(s: Script, rcounts: Sequence[int], size: int) -> None:
    """Reduce along a tree to rank 0, which sends all parts (`nbc_ireduce_scatter.c`)."""
    if s.size < 2 or sum(rcounts) == 0:
        return
    sent = _reduce_up_tree(s, sum(rcounts) * size, 0)
    if sent is not None:
        s.waitall([sent])
        s.irecv(0, rcounts[s.rank] * size)
    else:
        s.isends(range(1, s.size), [count * size for count in rcounts[1:]])


def iscan(s: Script, count: int, size: int) -> None:
    """Receive from the rank below, then send to the one above (`nbc_iscan.c`)."""
    if count == 0:
        return
    if s.rank > 0:
        received = s.irecv(s.rank - 1, count * size)
        if s.rank < s.size - 1:
            s.waitall([received])
    if s.rank < s.size - 1:
        s.isend(s.rank + 1, count * size)


iexscan = iscan  # `nbc_iexscan.c`
