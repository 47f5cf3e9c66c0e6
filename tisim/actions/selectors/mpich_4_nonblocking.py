"""Non-blocking collectives of MPICH 4.0, in rounds.

By default MPICH executes its "sched" algorithms (the non-blocking part of
`maint/tuning/coll/mpir/generic.json`): those of the blocking collectives, step by step. A step
begins when the previous one is complete and its rank is inside MPI. Most functions here therefore
pass a blocking algorithm an endpoint that turns its calls into rounds. Broadcasts, reductions to a
root and scans have two levels if a node has several ranks. Reductions are assumed to commute, and
no buffer is in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tisim.actions.collectives import nonblocking
from tisim.actions.collectives.allgatherv import allgather_ring_pieces
from tisim.actions.collectives.bcast import scatter_lr_allgather, scatter_rdb_allgather
from tisim.actions.collectives.catalogue import Algorithm, algorithm
from tisim.actions.collectives.halving import halving_blocks, is_power_of_two
from tisim.actions.collectives.segments import Pieces
from tisim.actions.collectives.trees import in_order_binomial_tree
from tisim.actions.script import Endpoint, Rounds, Script
from tisim.actions.selectors import mpich_4, mpich_4_nodes

# Bytes; some thresholds differ from those of the blocking collectives in `mpich_4`.
_SHORT_BCAST, _LONG_BCAST = 12288, 524288
_SHORT_ALLREDUCE = _SHORT_ALLTOALL = 2048
_LONG_ALLGATHER, _SHORT_ALLGATHER = 524288, 81920
_FEW_RANKS = 8

igatherv, iscatterv = nonblocking.igatherv, nonblocking.iscatterv


def _in_rounds(
    blocking: Algorithm, *more: object, receives_first: bool = False
) -> Callable[..., None]:
    """Return a blocking operation's algorithm in rounds; `more`: its additional arguments."""

    def write(s: Script, *arguments: object) -> None:
        blocking(Rounds(s, receives_first=receives_first), *arguments, *more)

    return write


# `MPIR_I*_intra_sched_*`: dissemination, binomial trees, recursive doubling, groups of 32 messages,
# or a choice by bytes, as for blocking operations. An allreduce posts the receive of an exchange
# before the send.
ibarrier = _in_rounds(mpich_4.flat_barrier)
iallreduce = _in_rounds(
    mpich_4.flat_allreduce, _SHORT_ALLREDUCE, halving_blocks, receives_first=True
)
igather = _in_rounds(mpich_4.gather)
iscatter = _in_rounds(mpich_4.scatter)
iallgather = _in_rounds(mpich_4.allgather)
ialltoall = _in_rounds(mpich_4.alltoall, _SHORT_ALLTOALL)
ialltoallv = _in_rounds(mpich_4.alltoallv)
ireduce_scatter = _in_rounds(mpich_4.reduce_scatter)
iexscan = _in_rounds(mpich_4.exscan)


def ireduce(s: Script, count: int, size: int, root: int) -> None:
    """Reduce on the nodes, on the root's node last (`MPIR_Ireduce_intra_sched_smp`)."""
    found = mpich_4_nodes.layout_of(s)
    flat = partial(mpich_4.flat_reduce, steps_of=halving_blocks)
    if found is None:
        flat(Rounds(s), count, size, root)
    else:
        mpich_4_nodes.reduce_by_nodes(Rounds(s), found, count, size, root, flat)


def iscan(s: Script, count: int, size: int) -> None:
    """As the blocking scan (`MPIR_Iscan_intra_sched_smp`)."""
    found, flat = mpich_4_nodes.layout_of(s), mpich_4.flat_scan
    if found is None or not found.blocked:
        flat(Rounds(s), count, size)
    else:
        mpich_4_nodes.scan(Rounds(s), found, count, size, flat, _ibcast_of_part, announced=False)


def ibcast(s: Script, count: int, size: int, root: int) -> None:
    """Broadcast among the leaders first (`MPIR_Ibcast_intra_sched_smp`)."""
    found = mpich_4_nodes.layout_of(s)
    if found is None:
        _flat_ibcast(s, count, size, root)
    else:
        mpich_4_nodes.bcast_by_leaders(Rounds(s), found, count, size, root, _ibcast_of_part)


def _ibcast_of_part(s: Endpoint, count: int, size: int, root: int) -> None:
    """Broadcast, then end the round."""
    _flat_ibcast(s, count, size, root)
    s.wait(0)


def _flat_ibcast(s: Endpoint, count: int, size: int, root: int) -> None:
    """Choose by the bytes of the message."""
    nbytes = count * size
    if nbytes == 0:
        return
    if s.size < _FEW_RANKS or nbytes < _SHORT_BCAST:
        _bcast_down_tree(s, nbytes, root)
    elif is_power_of_two(s.size) and nbytes < _LONG_BCAST:
        scatter_rdb_allgather(Rounds(s), nbytes, 1, root, _scatter)
    else:
        scatter_lr_allgather(Rounds(s), nbytes, 1, root, _scatter)


def _scatter(s: Endpoint, pieces: Pieces, root: int) -> None:
    """Scatter along a binomial tree (`MPII_Iscatter_for_bcast_sched`).

    A rank other than the root treats its whole buffer as received, and sends down more than it has.
    """
    place = (s.rank - root) % s.size
    parent, children = in_order_binomial_tree(place, s.size, 0)
    held = pieces.nbytes(place, s.size)
    if parent is not None and held > 0:
        s.recv((parent + root) % s.size, held)
    for child in reversed(children):
        passed = held - pieces.piece * (child - place)
        if passed > 0:
            s.send((child + root) % s.size, passed)
            held -= passed


def _bcast_down_tree(s: Endpoint, nbytes: int, root: int) -> None:
    """Receive, then send to all children at once (`MPIR_Ibcast_intra_sched_binomial`).

    The blocking broadcast sends to one child after the other.
    """
    parent, children = in_order_binomial_tree(s.rank, s.size, root)
    if parent is not None:
        received = s.irecv(parent, nbytes)
        if children:
            s.waitall([received])
    for child in reversed(children):
        s.isend(child, nbytes)


def iallgatherv(s: Script, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """Choose by the bytes of all blocks; pieces of the ring are never below the smallest block."""
    total = sum(rcounts) * rsize
    if total == 0:
        return
    if total >= (_LONG_ALLGATHER if is_power_of_two(s.size) else _SHORT_ALLGATHER):
        # `MPIR_Iallgatherv_intra_sched_ring` posts the receive of a step first.
        smallest = min(rcounts)
        long = smallest * rsize >= mpich_4.PIECE
        piece = smallest if long else max(mpich_4.PIECE // rsize, 1)
        allgather_ring_pieces(Rounds(s, receives_first=True), rcounts, rsize, piece)
        return
    name = "mpich_rdb" if is_power_of_two(s.size) else "ompi_bruck"
    algorithm("allgatherv", name)(Rounds(s), scount, ssize, rcounts, rsize)
