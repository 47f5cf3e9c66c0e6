"""The selector `ompi`: what Open MPI 4.1 decides, on the number of ranks and the size alone.

Every decision is a function `choose_<operation>`, followed by the call. The thresholds are in
`ompi_tables`. Where Open MPI looks at the bytes of a whole message, so does SimGrid, with the
arguments of the calling rank: ranks whose arguments differ may decide differently.
"""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.script import Endpoint
from tisim.actions.selectors import ompi_tables as tables
from tisim.actions.selectors.choice import Choice, able, below, by_size


def choose_barrier(ranks: int) -> Choice:
    """The choice for `ranks` ranks."""
    return Choice(below(tables.BARRIER, ranks)[1])


def choose_bcast(ranks: int, nbytes: int) -> Choice:
    """The choice for a message of `nbytes` bytes."""
    return by_size(tables.BCAST, ranks, nbytes)


def choose_reduce(ranks: int, nbytes: int) -> Choice:
    """The choice for a vector of `nbytes` bytes."""
    return by_size(tables.REDUCE, ranks, nbytes)


def choose_allreduce(ranks: int, nbytes: int) -> Choice:
    """The choice for a vector of `nbytes` bytes."""
    return by_size(tables.ALLREDUCE, ranks, nbytes)


def choose_gather(ranks: int, nbytes: int) -> Choice:
    """The choice for blocks of `nbytes` bytes."""
    return by_size(tables.GATHER, ranks, nbytes)


def choose_scatter(ranks: int, nbytes: int) -> Choice:
    """The choice for blocks of `nbytes` bytes."""
    return by_size(tables.SCATTER, ranks, nbytes)


def choose_allgather(ranks: int, nbytes: int) -> Choice:
    """The choice for blocks of `nbytes` bytes."""
    return by_size(tables.ALLGATHER, ranks, nbytes)


def choose_allgatherv(ranks: int, nbytes: int) -> Choice:
    """The choice for `nbytes` bytes in all; the mean of the blocks decides, rounded down."""
    return by_size(tables.ALLGATHERV, ranks, nbytes // ranks)


def choose_alltoall(ranks: int, nbytes: int) -> Choice:
    """The choice for blocks of `nbytes` bytes."""
    return by_size(tables.ALLTOALL, ranks, nbytes)


def choose_alltoallv(ranks: int) -> Choice:
    """The choice for `ranks` ranks."""
    return Choice(able(below(tables.ALLTOALLV, ranks)[1], ranks))


def choose_reduce_scatter(ranks: int, nbytes: int) -> Choice:
    """The choice for `nbytes` bytes in all."""
    return by_size(tables.REDUCE_SCATTER, ranks, nbytes)


def barrier(s: Endpoint) -> None:
    """See `choose_barrier`."""
    choose_barrier(s.size).call("barrier", s)


def bcast(s: Endpoint, count: int, size: int, root: int) -> None:
    """See `choose_bcast`."""
    choose_bcast(s.size, count * size).call("bcast", s, count, size, root)


def reduce(s: Endpoint, count: int, size: int, root: int) -> None:
    """See `choose_reduce`."""
    choose_reduce(s.size, count * size).call("reduce", s, count, size, root)


def allreduce(s: Endpoint, count: int, size: int) -> None:
    """See `choose_allreduce`."""
    choose_allreduce(s.size, count * size).call("allreduce", s, count, size)


def gather(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> None:
    """See `choose_gather`: what the root receives from a rank, what a rank sends."""
    block = rcount * rsize if s.rank == root else scount * ssize
    choose_gather(s.size, block).call("gather", s, scount, ssize, rcount, rsize, root)


def scatter(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> None:
    """See `choose_scatter`: what the root sends to a rank, what a rank receives."""
    block = scount * ssize if s.rank == root else rcount * rsize
    choose_scatter(s.size, block).call("scatter", s, scount, ssize, rcount, rsize, root)


def allgather(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """See `choose_allgather`."""
    choose_allgather(s.size, scount * ssize).call("allgather", s, scount, ssize, rcount, rsize)


def allgatherv(s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """See `choose_allgatherv`; elements count with the width that this rank sends."""
    choice = choose_allgatherv(s.size, sum(rcounts) * ssize)
    choice.call("allgatherv", s, scount, ssize, rcounts, rsize)


def alltoall(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """See `choose_alltoall`."""
    choose_alltoall(s.size, scount * ssize).call("alltoall", s, scount, ssize, rcount, rsize)


def alltoallv(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """See `choose_alltoallv`."""
    choose_alltoallv(s.size).call("alltoallv", s, scounts, ssize, rcounts, rsize)


def reduce_scatter(s: Endpoint, rcounts: Sequence[int], size: int) -> None:
    """See `choose_reduce_scatter`."""
    choice = choose_reduce_scatter(s.size, sum(rcounts) * size)
    choice.call("reduce_scatter", s, rcounts, size)
