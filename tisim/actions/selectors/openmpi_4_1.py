"""Selectors `openmpi-4.1` and `openmpi-5.0`: Open MPI's default behaviour with one rank per node.

The decisions are those of `coll/tuned` (`openmpi.txt`); operations that it lacks (gatherv,
scatterv, scan, exscan) are those of `coll/basic`. Messages are not segmented. A rank decides with
its own arguments, as in Open MPI. The library returns at once from a collective of empty messages
(`ompi/mpi/c/*.c`), except from a barrier. `coll_tuned_decision_fixed.c` of 5.0.6 equals that of
4.1.4, and its algorithms send the same messages, except that alltoallv omits empty ones
(`coll_base_alltoallv.c`). Its component `coll/han` falls back if every node has one rank.
"""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.collectives import openmpi
from tisim.actions.collectives.allgatherv import allgather_ring, exchange_with_neighbours
from tisim.actions.collectives.allreduce import ring_in_phases
from tisim.actions.collectives.catalogue import algorithm
from tisim.actions.collectives.gather import gather_linear_sync
from tisim.actions.collectives.halving import is_power_of_two, power_of_two_up_to
from tisim.actions.collectives.reduce import by_halves
from tisim.actions.collectives.scatter import scatter_intervals
from tisim.actions.script import Endpoint
from tisim.actions.selectors.choice import first_above, read_tables


def choose(operation: str, ranks: int, nbytes: int = 0) -> str:
    """Return the algorithm of an operation from its table, by Open MPI's name."""
    return first_above(first_above(read_tables("openmpi")[operation], ranks).sizes, nbytes)[1]


# SimGrid's algorithms that send Open MPI's messages in Open MPI's order.
_BARRIERS = {
    "linear": "ompi_basic_linear",
    "double_ring": "ompi_doublering",
    "recursive_doubling": "ompi_recursivedoubling",
    "bruck": "ompi_bruck",
    "tree": "ompi_tree",
}
_REDUCE_SCATTERS = {
    "recursive_halving": "ompi_basic_recursivehalving",
    "ring": "ompi_ring",
    "butterfly": "ompi_butterfly",
}
_ALLTOALLS = {
    "two_proc": "pair",
    "pairwise": "ring",
    "modified_bruck": "bruck",
    "linear": "basic_linear",
    "linear_sync": "basic_linear",
}
_BCAST_TREES = {
    "chain": "chain",
    "pipeline": "chain",
    "binary_tree": "binary",
    "binomial": "binomial",
    "knomial": "knomial",
}
_REDUCE_TREES = {"chain": "chain", "pipeline": "chain", "binary": "binary", "binomial": "binomial"}


def barrier(s: Endpoint) -> None:
    """Choose by the number of ranks."""
    if s.size > 1:
        algorithm("barrier", _BARRIERS[choose("barrier", s.size)])(s)


def bcast(s: Endpoint, count: int, size: int, root: int) -> None:
    """Choose by the bytes of the message."""
    nbytes = count * size
    if s.size < 2 or count == 0:
        return
    name = choose("bcast", s.size, nbytes)
    if name == "basic_linear":
        algorithm("bcast", "flattree")(s, count, size, root)
    elif name == "split_binary_tree":
        openmpi.bcast_split_binary(s, count, size, root)
    elif name == "scatter_allgather":
        openmpi.bcast_scatter_allgather(s, count, size, root)
    else:
        openmpi.bcast_tree(s, nbytes, root, _BCAST_TREES[name])


def reduce(s: Endpoint, count: int, size: int, root: int) -> None:
    """Choose by the bytes of the vector."""
    nbytes = count * size
    if s.size < 2 or count == 0:
        return
    name = choose("reduce", s.size, nbytes)
    if name == "linear":
        algorithm("reduce", "ompi_basic_linear")(s, count, size, root)
    elif name == "in-order_binary":
        algorithm("reduce", "ompi_in_order_binary")(s, count, size, root)
    elif name == "rabenseifner":
        _reduce_halving(s, count, size, root)
    else:
        openmpi.reduce_tree(s, nbytes, root, _REDUCE_TREES[name])


def allreduce(s: Endpoint, count: int, size: int) -> None:
    """Choose by the bytes of the vector."""
    nbytes = count * size
    if s.size < 2 or count == 0:
        return
    name = choose("allreduce", s.size, nbytes)
    if name == "recursive_doubling":
        algorithm("allreduce", "rdb")(s, count, size)
    elif name in ("ring", "segmented_ring"):
        _allreduce_ring(s, count, size)
    elif name == "rabenseifner":
        _allreduce_halving(s, count, size)
    else:  # nonoverlapping: a reduction to rank 0 and a broadcast
        reduce(s, count, size, 0)
        bcast(s, count, size, 0)


def _reduce_halving(s: Endpoint, count: int, size: int, root: int) -> None:
    """Rabenseifner's algorithm, or linear if the vector is too short to halve [Thakur].

    `ompi_coll_base_reduce_intra_redscat_gather` (`coll_base_reduce.c`).
    """
    if count < power_of_two_up_to(s.size):
        algorithm("reduce", "ompi_basic_linear")(s, count, size, root)
    else:
        by_halves(s, count, size, root)


def _allreduce_halving(s: Endpoint, count: int, size: int) -> None:
    """Rabenseifner's algorithm, or linear if the vector is too short to halve [Thakur].

    `ompi_coll_base_allreduce_intra_redscat_allgather` (`coll_base_allreduce.c`).
    """
    if count < power_of_two_up_to(s.size):
        algorithm("reduce", "ompi_basic_linear")(s, count, size, 0)
        algorithm("bcast", "flattree")(s, count, size, 0)
    else:
        algorithm("allreduce", "rab")(s, count, size)


def _allreduce_ring(s: Endpoint, count: int, size: int) -> None:
    """Reduce-scatter and allgather around a ring.

    `ompi_coll_base_allreduce_intra_ring`; `_ring_segmented` is the same without a segment size.
    """
    if count < s.size:
        algorithm("allreduce", "rdb")(s, count, size)
    else:
        ring_in_phases(s, count, size, 1)


def gather(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> None:
    """Choose by the bytes of a block, received on the root, sent on other ranks."""
    sent, received = scount * ssize, rcount * rsize
    block = received if s.rank == root else sent
    if s.size < 2 or block == 0:
        return
    name = choose("gather", s.size, block)
    if name == "basic_linear":
        algorithm("gather", "ompi_basic_linear")(s, scount, ssize, rcount, rsize, root)
    elif name == "linear_sync":
        gather_linear_sync(s, (sent, 0), (received, 0), root)
    else:
        algorithm("gather", "ompi_binomial")(s, scount, ssize, rcount, rsize, root)


def gatherv(
    s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int, root: int
) -> None:
    """Linear (`coll/basic`)."""
    openmpi.gatherv_linear(s, scount * ssize, [count * rsize for count in rcounts], root)


def scatter(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> None:
    """Choose by the bytes of a block, sent on the root, received on other ranks."""
    sent, received = scount * ssize, rcount * rsize
    block = sent if s.rank == root else received
    if s.size < 2 or block == 0:
        return
    name = choose("scatter", s.size, block)
    if name == "basic_linear":
        algorithm("scatter", "ompi_basic_linear")(s, scount, ssize, rcount, rsize, root)
    elif name == "linear_nb":
        algorithm("scatter", "ompi_linear_nb")(s, scount, ssize, rcount, rsize, root)
    else:
        scatter_intervals(s, block, root)


def scatterv(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcount: int, rsize: int, root: int
) -> None:
    """Linear (`coll/basic`)."""
    openmpi.scatterv_linear(s, [count * ssize for count in scounts], rcount * rsize, root)


def allgather(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Choose by the bytes that this rank sends."""
    sent, received = scount * ssize, rcount * rsize
    if s.size < 2 or sent == 0:
        return
    _allgather(s, choose("allgather", s.size, sent), sent, [received] * s.size)


def _allgather(s: Endpoint, name: str, sent: int, blocks: Sequence[int]) -> None:
    """Write an algorithm by Open MPI's name; `blocks`: the bytes of each rank's block.

    `sent` matters only between two ranks. On an odd number of ranks, a ring replaces exchanges with
    neighbours; if the number is not a power of two, Bruck's algorithm replaces recursive doubling
    (`coll_base_allgather.c`).
    """
    if name == "two_proc":
        s.sendrecv(1 - s.rank, sent, 0, 1 - s.rank, blocks[1 - s.rank], 0)
    elif name == "recursive_doubling" and is_power_of_two(s.size):
        algorithm("allgather", "rdb")(s, 1, blocks[0], 1, blocks[0])
    elif name in ("recursive_doubling", "bruck"):
        algorithm("allgatherv", "ompi_bruck")(s, 1, sent, blocks, 1)
    elif name == "ring" or s.size % 2:
        allgather_ring(s, blocks)
    else:
        exchange_with_neighbours(s, blocks)


def allgatherv(s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """Choose by the mean block, rounded down, with the element width of this rank's send side."""
    total = sum(rcounts) * ssize
    if s.size < 2 or total == 0:
        return
    name = choose("allgatherv", s.size, total // s.size)
    blocks = [count * rsize for count in rcounts]
    if name == "default":  # gather to rank 0, then broadcast as one element
        openmpi.gatherv_linear(s, scount * ssize, blocks, 0)
        bcast(s, 1, sum(blocks), 0)
    else:
        _allgather(s, name, scount * ssize, blocks)


def alltoall(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Choose by the bytes of a block."""
    block = scount * ssize
    if s.size > 1 and block:
        name = _ALLTOALLS[choose("alltoall", s.size, block)]
        algorithm("alltoall", name)(s, scount, ssize, rcount, rsize)


def alltoallv(
    s: Endpoint,
    scounts: Sequence[int],
    ssize: int,
    rcounts: Sequence[int],
    rsize: int,
    *,
    empty: bool = True,
) -> None:
    """Choose by the number of ranks; with or without empty messages."""
    sent = [count * ssize for count in scounts]
    received = [count * rsize for count in rcounts]
    name = choose("alltoallv", s.size)
    write = openmpi.alltoallv_pairwise if name == "pairwise" else openmpi.alltoallv_linear
    if s.size > 1:
        write(s, sent, received, empty=empty)


def alltoallv_5_0(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """`alltoallv` without empty messages."""
    alltoallv(s, scounts, ssize, rcounts, rsize, empty=False)


def reduce_scatter(s: Endpoint, rcounts: Sequence[int], size: int) -> None:
    """Choose by the total bytes."""
    total = sum(rcounts)
    if s.size < 2 or total * size == 0:
        return
    name = choose("reduce_scatter", s.size, total * size)
    if name == "non-overlapping":
        reduce(s, total, size, 0)
        scatterv(s, rcounts, size, rcounts[s.rank], size, 0)
    else:
        algorithm("reduce_scatter", _REDUCE_SCATTERS[name])(s, rcounts, size)


def scan(s: Endpoint, count: int, size: int) -> None:
    """Linear (`coll/basic`)."""
    if count * size > 0:
        openmpi.scan_linear(s, count * size)


exscan = scan
