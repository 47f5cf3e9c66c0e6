"""The selector `mpich-4`: the default behaviour of MPICH 4.0.

Decisions for commutative operations, from `maint/tuning/coll/mpir/generic.json`, which MPICH 4.0.2
contains as its default (`src/mpi/coll/src/csel.c` reads it). They apply unchanged if each node has
one rank, and for most operations. If a node has several ranks, the layer below (ch4) composes
barriers, broadcasts, reductions and scans from operations on the nodes and among their leaders: see
`mpich_4_nodes.py`. SimGrid's algorithms that send the same messages in the same order are reused.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tisim.actions.collectives.allgatherv import allgather_ring_pieces
from tisim.actions.collectives.allreduce import by_halving as allreduce_by_halving
from tisim.actions.collectives.barrier import two_level_barrier
from tisim.actions.collectives.exchanges import exchange_throttled
from tisim.actions.collectives.halving import (
    StepsOf,
    halving_even_blocks,
    is_power_of_two,
    power_of_two_up_to,
)
from tisim.actions.collectives.reduce import by_halving as reduce_by_halving
from tisim.actions.collectives.scatter import scatter_intervals
from tisim.actions.nodes import host_groups
from tisim.actions.script import Endpoint
from tisim.actions.selectors import default, mpich_4_nodes
from tisim.actions.selectors.choice import Choice

# Bytes.
PIECE = 32768  # `MPIR_CVAR_ALLGATHERV_PIPELINE_MSG_SIZE`
_SHORT_BCAST, _LONG_BCAST = 12288, 524288
_SHORT_REDUCE, _SHORT_ALLREDUCE = 2048, 8
_LONG_ALLGATHER, _SHORT_ALLGATHER = 524288, 81920
_SHORT_ALLTOALL, _LONG_ALLTOALL = 256, 32768
_LONG_REDUCE_SCATTER = 524288
_BATCH = 32  # ranks: `MPIR_CVAR_ALLTOALL_THROTTLE`
# Small communicators have no special algorithm for long broadcasts and short all-to-alls. The table
# has "comm_size<8" in both places. MPICH evaluates it as "<" for a broadcast, when it creates the
# communicator, and as "<=" for an all-to-all, at the call (csel.c, line 1212).
_FEW_RANKS = 8

gatherv = partial(default.write, "gatherv")
scatterv = partial(default.write, "scatterv")


def barrier(s: Endpoint) -> None:
    """Barrier on the nodes, then among the leaders, then a broadcast on the nodes."""
    found = mpich_4_nodes.layout_of(s)
    if found is None:
        flat_barrier(s)
    else:
        two_level_barrier(host_groups(s, found), flat_barrier, flat_bcast)


def bcast(s: Endpoint, count: int, size: int, root: int) -> None:
    """Broadcast among the leaders first, except for long messages."""
    nbytes = count * size
    found = mpich_4_nodes.layout_of(s)
    if found is not None and (s.size < _FEW_RANKS or nbytes < _SHORT_BCAST):
        mpich_4_nodes.bcast_by_leaders(s, found, nbytes, 1, root, flat_bcast)
    elif found is not None and is_power_of_two(s.size) and nbytes < _LONG_BCAST:
        mpich_4_nodes.bcast_by_nodes(s, found, nbytes, 1, root, flat_bcast)
    else:
        flat_bcast(s, nbytes, 1, root)


def reduce(s: Endpoint, count: int, size: int, root: int) -> None:
    """Reduce on the nodes first; long vectors go to rank 0, which sends the result to the root."""
    found = mpich_4_nodes.layout_of(s)
    if found is None:
        flat_reduce(s, count, size, root)
    elif count * size <= _SHORT_REDUCE:
        mpich_4_nodes.reduce_by_nodes(s, found, count, size, root, flat_reduce)
    else:
        mpich_4_nodes.reduce_to_rank_0(s, found, count, size, root, flat_reduce)


def allreduce(s: Endpoint, count: int, size: int) -> None:
    """Reduce to the leaders, allreduce among them, then broadcast on the nodes."""
    found = mpich_4_nodes.layout_of(s)
    if found is None or len(found.leaders) == 1:
        flat_allreduce(s, count, size)
        return
    where = host_groups(s, found)
    flat_reduce(where.intra, count, size, 0)
    if where.leaders is not None:
        flat_allreduce(where.leaders, count, size)
    flat_bcast(where.intra, count, size, 0)


def scan(s: Endpoint, count: int, size: int) -> None:
    """Scan on the nodes, then among the leaders, if the ranks of each node are consecutive."""
    found = mpich_4_nodes.layout_of(s)
    if found is None or not found.blocked:
        flat_scan(s, count, size)
    else:
        mpich_4_nodes.scan(s, found, count, size, flat_scan, flat_bcast, announced=True)


# The following algorithms ignore nodes.


def flat_barrier(s: Endpoint) -> None:
    """Dissemination (`MPIR_Barrier_intra_dissemination`)."""
    Choice("ompi_bruck").call("barrier", s)


def flat_bcast(s: Endpoint, count: int, size: int, root: int) -> None:
    """Choose by the bytes of the message."""
    nbytes = count * size
    if nbytes == 0:
        return
    if s.size < _FEW_RANKS or nbytes <= _SHORT_BCAST:
        name = "binomial_tree"
    elif is_power_of_two(s.size) and nbytes <= _LONG_BCAST:
        name = "scatter_rdb_allgather"
    else:
        name = "scatter_LR_allgather"
    Choice(name).call("bcast", s, nbytes, 1, root)


# The non-blocking operations reuse these decisions (`mpich_4_nonblocking.py`), some of them with
# other thresholds and steps.


def flat_reduce(
    s: Endpoint, count: int, size: int, root: int, steps_of: StepsOf = halving_even_blocks
) -> None:
    """Choose by the bytes of the vector, and whether each rank gets an element."""
    if count == 0:
        return
    if count * size <= _SHORT_REDUCE or count < power_of_two_up_to(s.size):
        Choice("binomial").call("reduce", s, count, size, root)
    else:
        reduce_by_halving(s, count, size, root, steps_of)


def flat_allreduce(
    s: Endpoint,
    count: int,
    size: int,
    short: int = _SHORT_ALLREDUCE,
    steps_of: StepsOf = halving_even_blocks,
) -> None:
    """Choose by the bytes of the vector, and whether each rank gets an element."""
    if count == 0:
        return
    if count * size <= short or count < power_of_two_up_to(s.size):
        Choice("rdb").call("allreduce", s, count, size)
    else:
        allreduce_by_halving(s, count, size, steps_of)


def gather(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> None:
    """Gather along a binomial tree (`MPIR_Gather_intra_binomial`)."""
    if (rcount * rsize if s.rank == root else scount * ssize) > 0:
        Choice("ompi_binomial").call("gather", s, scount, ssize, rcount, rsize, root)


def scatter(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> None:
    """Scatter along a binomial tree."""
    block = scount * ssize if s.rank == root else rcount * rsize
    if block > 0:
        scatter_intervals(s, block, root)


def allgather(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Choose by the bytes of all blocks."""
    total = rcount * rsize * s.size
    if total == 0:
        return
    if is_power_of_two(s.size):
        name = "rdb" if total < _LONG_ALLGATHER else "NTSLR"
    else:
        name = "bruck" if total < _SHORT_ALLGATHER else "NTSLR"
    Choice(name).call("allgather", s, scount, ssize, rcount, rsize)


def allgatherv(s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """Choose by the bytes of all blocks."""
    total = sum(rcounts) * rsize
    if total == 0:
        return
    if total >= (_LONG_ALLGATHER if is_power_of_two(s.size) else _SHORT_ALLGATHER):
        whole = max(rcounts) * rsize <= PIECE
        piece = max(rcounts) if whole else max(PIECE // rsize, 1)
        allgather_ring_pieces(s, rcounts, rsize, piece)
        return
    name = "mpich_rdb" if is_power_of_two(s.size) else "ompi_bruck"
    Choice(name).call("allgatherv", s, scount, ssize, rcounts, rsize)


def alltoall(
    s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, short: int = _SHORT_ALLTOALL
) -> None:
    """Choose by the bytes of a block."""
    block = scount * ssize
    if block == 0:
        return
    if s.size > _FEW_RANKS and block <= short:
        name = "bruck"
    elif block <= _LONG_ALLTOALL:
        sent, received = [block] * s.size, [rcount * rsize] * s.size
        exchange_throttled(s, sent, received, _BATCH, own=True)
        return
    else:
        name = "pair" if is_power_of_two(s.size) else "ring"
    Choice(name).call("alltoall", s, scount, ssize, rcount, rsize)


def alltoallv(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """Non-empty messages to 32 ranks at once (`MPIR_Alltoallv_intra_scattered`)."""
    sent, received = [count * ssize for count in scounts], [count * rsize for count in rcounts]
    exchange_throttled(s, sent, received, _BATCH, own=False, empty=False)


def reduce_scatter(s: Endpoint, rcounts: Sequence[int], size: int) -> None:
    """Choose by the bytes of the vector."""
    total = sum(rcounts) * size
    if total == 0:
        return
    short = total < _LONG_REDUCE_SCATTER
    name = "ompi_basic_recursivehalving" if short else "mpich_pair"
    Choice(name).call("reduce_scatter", s, rcounts, size)


def flat_scan(s: Endpoint, count: int, size: int) -> None:
    """Recursive doubling with existing partners (`MPIR_Scan_intra_recursive_doubling`)."""
    mask = 1
    while mask < s.size and count:
        peer = s.rank ^ mask
        if peer < s.size:
            s.sendrecv(peer, count * size, 0, peer, count * size, 0)
            s.combine(count * size)
        mask *= 2


exscan = flat_scan  # the same messages (`MPIR_Exscan_intra_recursive_doubling`)
