"""The selector `impi`: what Intel MPI 4.1 decides on the Stampede cluster.

Every decision is a function `choose_<operation>`, followed by the call. The thresholds are in
`impi_tables`. A decision depends on the size, on the number of ranks, and on the number of ranks
of a host (`per_host`) where it is 1, 2, 4, 8 or 16 and the same on every host; any other placement
counts as one rank a host. Intel's own algorithms are not public: where the manual names one, the
nearest one known stands in for it, as in SimGrid 3.32.
"""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.nodes import nodes
from tisim.actions.script import Endpoint
from tisim.actions.selectors import impi_tables as tables
from tisim.actions.selectors.choice import Choice, NumberedTable, able, below, up_to

# Stand-ins for the algorithms 1, 2, ... of each I_MPI_ADJUST_<operation>.
_ALLREDUCE = (
    "rdb", "rab1", "redbcast", "mvapich2_two_level", "smp_binomial", "mvapich2_two_level",
    "ompi_ring_segmented", "ompi_ring_segmented",
)  # fmt: skip
_ALLTOALL = ("bruck", "mvapich2_scatter_dest", "pair", "mvapich2")
_ALLTOALLV = ("ompi_basic_linear", "bruck")
_BARRIER = (
    "ompi_basic_linear", "ompi_recursivedoubling", "ompi_basic_linear", "ompi_recursivedoubling",
    "default", "default",
)  # fmt: skip
_BCAST = ("binomial_tree", "NTSL", "NTSL", "SMP_binomial", "NTSL", "SMP_linear", "mvapich2")
_REDUCE_SCATTER = (
    "ompi_basic_recursivehalving", "mpich_pair", "mpich_rdb", "default", "default",
)  # fmt: skip
_ALLGATHER = ("rdb", "bruck", "ring", "GB")
_ALLGATHERV = ("mpich_rdb", "ompi_bruck", "ring", "GB")
_GATHER = ("ompi_binomial", "ompi_binomial", "mvapich2")
_SCATTER = ("ompi_binomial", "ompi_binomial", "mvapich2")


def choose_barrier(ranks: int, per_host: int) -> Choice:
    """The choice for `ranks` ranks, `per_host` on a host."""
    return _choose(tables.BARRIER, _BARRIER, ranks, 1, per_host)


def choose_bcast(ranks: int, nbytes: int, per_host: int) -> Choice:
    """The choice for `nbytes` bytes."""
    return _choose(tables.BCAST, _BCAST, ranks, nbytes, per_host)


def choose_reduce() -> Choice:
    """Always Shumilin's algorithm or its topology-aware form, whose stand-in is MVAPICH2."""
    return Choice("mvapich2")


def choose_allreduce(ranks: int, nbytes: int, per_host: int) -> Choice:
    """The choice for a vector of `nbytes` bytes."""
    return _choose(tables.ALLREDUCE, _ALLREDUCE, ranks, nbytes, per_host)


def choose_gather(ranks: int, nbytes: int, per_host: int) -> Choice:
    """The choice for blocks of `nbytes` bytes."""
    return _choose(tables.GATHER, _GATHER, ranks, nbytes, per_host)


def choose_scatter(ranks: int, nbytes: int, per_host: int) -> Choice:
    """The choice for blocks of `nbytes` bytes."""
    return _choose(tables.SCATTER, _SCATTER, ranks, nbytes, per_host)


def choose_allgather(ranks: int, nbytes: int, per_host: int) -> Choice:
    """The choice for blocks of `nbytes` bytes."""
    return _choose(tables.ALLGATHER, _ALLGATHER, ranks, nbytes, per_host)


def choose_allgatherv(ranks: int, nbytes: int, per_host: int) -> Choice:
    """The choice for `nbytes` bytes in all."""
    return _choose(tables.ALLGATHERV, _ALLGATHERV, ranks, nbytes, per_host)


def choose_alltoall(ranks: int, nbytes: int, per_host: int) -> Choice:
    """The choice for blocks of `nbytes` bytes."""
    return _choose(tables.ALLTOALL, _ALLTOALL, ranks, nbytes, per_host)


def choose_alltoallv(ranks: int, per_host: int) -> Choice:
    """The choice for `ranks` ranks, whatever the sizes."""
    return _choose(tables.ALLTOALLV, _ALLTOALLV, ranks, 1, per_host)


def choose_reduce_scatter(ranks: int, nbytes: int, per_host: int) -> Choice:
    """The choice for `nbytes` bytes in all."""
    return _choose(tables.REDUCE_SCATTER, _REDUCE_SCATTER, ranks, nbytes, per_host)


def barrier(s: Endpoint) -> None:
    """See `choose_barrier`."""
    choose_barrier(s.size, _per_host(s)).call("barrier", s)


def bcast(s: Endpoint, count: int, size: int, root: int) -> None:
    """See `choose_bcast`."""
    choice = choose_bcast(s.size, count * size, _per_host(s))
    choice.call("bcast", s, count, size, root)


def reduce(s: Endpoint, count: int, size: int, root: int) -> None:
    """See `choose_reduce`."""
    nodes(s)
    choose_reduce().call("reduce", s, count, size, root)


def allreduce(s: Endpoint, count: int, size: int) -> None:
    """See `choose_allreduce`."""
    choice = choose_allreduce(s.size, count * size, _per_host(s))
    choice.call("allreduce", s, count, size)


def gather(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> None:
    """See `choose_gather`: what the root receives from a rank, what a rank sends."""
    block = rcount * rsize if s.rank == root else scount * ssize
    choice = choose_gather(s.size, block, _per_host(s))
    choice.call("gather", s, scount, ssize, rcount, rsize, root)


def scatter(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> None:
    """See `choose_scatter`: what the root sends to a rank, what a rank receives."""
    block = scount * ssize if s.rank == root else rcount * rsize
    choice = choose_scatter(s.size, block, _per_host(s))
    choice.call("scatter", s, scount, ssize, rcount, rsize, root)


def allgather(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """See `choose_allgather`."""
    choice = choose_allgather(s.size, rcount * rsize, _per_host(s))
    choice.call("allgather", s, scount, ssize, rcount, rsize)


def allgatherv(s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """See `choose_allgatherv`."""
    choice = choose_allgatherv(s.size, sum(rcounts) * rsize, _per_host(s))
    choice.call("allgatherv", s, scount, ssize, rcounts, rsize)


def alltoall(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """See `choose_alltoall`."""
    choice = choose_alltoall(s.size, scount * ssize, _per_host(s))
    choice.call("alltoall", s, scount, ssize, rcount, rsize)


def alltoallv(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """See `choose_alltoallv`."""
    choice = choose_alltoallv(s.size, _per_host(s))
    choice.call("alltoallv", s, scounts, ssize, rcounts, rsize)


def reduce_scatter(s: Endpoint, rcounts: Sequence[int], size: int) -> None:
    """See `choose_reduce_scatter`."""
    choice = choose_reduce_scatter(s.size, sum(rcounts) * size, _per_host(s))
    choice.call("reduce_scatter", s, rcounts, size)


def _choose(
    by_host: dict[int, NumberedTable],
    names: Sequence[str],
    ranks: int,
    nbytes: int,
    per_host: int,
) -> Choice:
    table = by_host.get(per_host, by_host[1])
    name = names[below(up_to(table, ranks)[1], nbytes)[1] - 1]
    return Choice(able(name, ranks))


def _per_host(s: Endpoint) -> int:
    """The number of ranks of every host, 1 if they differ; the ranks ask on the first call."""
    found = nodes(s).layout
    return found.sizes[0] if found.uniform else 1
