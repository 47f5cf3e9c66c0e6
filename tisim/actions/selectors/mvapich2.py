"""The selector `mvapich2`: what MVAPICH2 decides, tuned for the Stampede cluster.

Every decision is a function `choose_<operation>`, followed by the call. The thresholds are in
`mvapich2_tables`. A decision depends on sizes, on the number of ranks, and in some operations on
the number of ranks of a host and on whether they are next to one another. Most algorithms work in
two levels; the keyword arguments of the choice say what they do on a host and among the hosts.
"""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.nodes import layout, nodes, surveyed
from tisim.actions.script import Endpoint
from tisim.actions.selectors import mvapich2_tables as tables
from tisim.actions.selectors.choice import Choice, able, up_to


def choose_barrier() -> Choice:
    """Recursive doubling, whatever the number of ranks."""
    return Choice("mvapich2_pair")


def choose_bcast(ranks: int, nbytes: int) -> Choice:
    """The choice for `nbytes` bytes.

    After `mvapich2_inter_node`, which leaves the message with the leader of every host, each
    leader broadcasts it on its host.
    """
    _, name, two_level = up_to(up_to(tables.BCAST, ranks)[1], nbytes)
    return Choice("mvapich2_inter_node", {"inter": name}) if two_level else Choice(name)


def choose_reduce(ranks: int, count: int, nbytes: int) -> Choice:
    """The choice for `count` elements of `nbytes` bytes in all."""
    _, among_leaders, on_host = up_to(tables.REDUCE, ranks)
    _, name, two_level = up_to(among_leaders, nbytes)
    if two_level:
        return Choice("mvapich2_two_level", {"intra": up_to(on_host, nbytes)[1], "inter": name})
    if name == "scatter_gather" and count < 1 << (ranks.bit_length() - 1):
        return Choice("binomial")
    return Choice(name)


def choose_allreduce(ranks: int, nbytes: int) -> Choice:
    """The choice for a vector of `nbytes` bytes."""
    _, name, two_level = up_to(up_to(tables.ALLREDUCE, ranks)[1], nbytes)
    if two_level:
        return Choice("mvapich2_two_level", {"intra": "reduce", "inter": name})
    return Choice(name)


def choose_gather(ranks: int, nbytes: int, *, blocked: bool) -> Choice:
    """The choice for blocks of `nbytes` bytes.

    Parameters
    ----------
    blocked
        It is known that the ranks of every host are next to one another.
    """
    if not blocked:
        return Choice("mpich")
    _, sizes, on_host = up_to(tables.GATHER, ranks)
    name = up_to(sizes, nbytes)[1]
    return Choice(name, {"intra": on_host} if name == "mvapich2_two_level" else {})


def choose_scatter(ranks: int, nbytes: int, *, per_host: int | None, blocked: bool) -> Choice:
    """The choice for blocks of `nbytes` bytes.

    Parameters
    ----------
    per_host
        The number of ranks of every host, None if they differ.
    blocked
        The ranks of every host are next to one another.
    """
    table = tables.SCATTER.get(per_host or 1, tables.SCATTER[1])
    _, sizes, on_host = up_to(table, ranks)
    name = up_to(sizes, nbytes)[1]
    if not name.startswith("mvapich2_two_level"):
        return Choice(name)
    return (
        Choice(name, {"intra": up_to(on_host, nbytes)[1]}) if blocked else Choice("ompi_binomial")
    )


def choose_allgather(ranks: int, nbytes: int, *, per_host: int | None, blocked: bool) -> Choice:
    """The choice for blocks of `nbytes` bytes; the parameters are those of `choose_scatter`."""
    table = tables.ALLGATHER.get(per_host or 1, tables.ALLGATHER[1])
    _, name, two_level = up_to(up_to(table, ranks)[1], nbytes)
    if two_level:
        return Choice("mvapich2_smp" if blocked else "mpich")
    return Choice(name)


def choose_allgatherv(ranks: int, nbytes: int) -> Choice:
    """The choice for `nbytes` bytes in all; the mean of the blocks decides."""
    name = up_to(up_to(tables.ALLGATHERV, ranks)[1], nbytes / ranks)[1]
    if name == "mpich_rdb" and ranks & (ranks - 1):
        return Choice("ompi_bruck")
    return Choice(name)


def choose_alltoall(ranks: int, nbytes: int) -> Choice:
    """The choice for blocks of `nbytes` bytes."""
    return Choice(able(up_to(up_to(tables.ALLTOALL, ranks)[1], nbytes)[1], ranks))


def choose_alltoallv() -> Choice:
    """A ring, whatever the sizes."""
    return Choice("ring")


def choose_reduce_scatter(ranks: int, nbytes: int) -> Choice:
    """The choice for `nbytes` bytes in all."""
    return Choice(up_to(up_to(tables.REDUCE_SCATTER, ranks)[1], nbytes)[1])


def barrier(s: Endpoint) -> None:
    """See `choose_barrier`."""
    choose_barrier().call("barrier", s)


def bcast(s: Endpoint, count: int, size: int, root: int) -> None:
    """See `choose_bcast`; nothing is done for no elements, here and in the reductions."""
    if count == 0:
        return
    found = nodes(s)
    choice = choose_bcast(s.size, count * size)
    choice.call("bcast", s, count, size, root)
    if choice.name == "mvapich2_inter_node":
        Choice("mpich").call("bcast", found.intra, count, size, 0)


def reduce(s: Endpoint, count: int, size: int, root: int) -> None:
    """See `choose_reduce`."""
    if count > 0:
        choose_reduce(s.size, count, count * size).call("reduce", s, count, size, root)


def allreduce(s: Endpoint, count: int, size: int) -> None:
    """See `choose_allreduce`."""
    if count > 0:
        choose_allreduce(s.size, count * size).call("allreduce", s, count, size)


def gather(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> None:
    """See `choose_gather`: what the root receives from a rank, what a rank sends."""
    block = rcount * rsize if s.rank == root else scount * ssize
    choice = choose_gather(s.size, block, blocked=surveyed(s) and layout(s).blocked)
    choice.call("gather", s, scount, ssize, rcount, rsize, root)


def scatter(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> None:
    """See `choose_scatter`: what the root sends to a rank, what a rank receives."""
    per_host, blocked = _placement(s)
    block = scount * ssize if s.rank == root else rcount * rsize
    choice = choose_scatter(s.size, block, per_host=per_host, blocked=blocked)
    choice.call("scatter", s, scount, ssize, rcount, rsize, root)


def allgather(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """See `choose_allgather`."""
    per_host, blocked = _placement(s)
    choice = choose_allgather(s.size, rcount * rsize, per_host=per_host, blocked=blocked)
    choice.call("allgather", s, scount, ssize, rcount, rsize)


def allgatherv(s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """See `choose_allgatherv`."""
    choice = choose_allgatherv(s.size, sum(rcounts) * rsize)
    choice.call("allgatherv", s, scount, ssize, rcounts, rsize)


def alltoall(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """See `choose_alltoall`."""
    choose_alltoall(s.size, scount * ssize).call("alltoall", s, scount, ssize, rcount, rsize)


def alltoallv(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """See `choose_alltoallv`."""
    choose_alltoallv().call("alltoallv", s, scounts, ssize, rcounts, rsize)


def reduce_scatter(s: Endpoint, rcounts: Sequence[int], size: int) -> None:
    """See `choose_reduce_scatter`."""
    choice = choose_reduce_scatter(s.size, sum(rcounts) * size)
    choice.call("reduce_scatter", s, rcounts, size)


def _placement(s: Endpoint) -> tuple[int | None, bool]:
    """The ranks of every host (None if they differ), and whether they are next to one another."""
    found = nodes(s).layout
    return found.sizes[0] if found.uniform else None, found.blocked
