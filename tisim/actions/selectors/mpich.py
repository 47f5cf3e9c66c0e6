"""The selector `mpich`: what MPICH decides.

Every decision is a function `choose_<operation>`, followed by the call. On a whole communicator
MPICH's broadcast and reductions work in two levels, on hosts and among them, even with one rank a
host; its flat algorithms are for the parts: the ranks of a host, or the leaders of the hosts.

References
----------
R. Thakur, R. Rabenseifner, W. Gropp: Optimization of Collective Communication Operations in MPICH,
International Journal of High Performance Computing Applications 19(1), 2005, 49-66. The thresholds
are those of SimGrid 3.32 (`smpi_mpich_selector.cpp`).
"""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.collectives.halving import is_power_of_two, power_of_two_up_to
from tisim.actions.nodes import is_part, nodes
from tisim.actions.script import Endpoint
from tisim.actions.selectors.choice import Choice

_TWO_LEVEL = Choice("mvapich2_two_level")


def choose_barrier() -> Choice:
    """Dissemination, whatever the number of ranks."""
    return Choice("ompi_bruck")


def choose_bcast(ranks: int, nbytes: int, *, part: bool, uniform: bool) -> Choice:
    """The choice for `nbytes` bytes.

    Parameters
    ----------
    part
        The ranks are those of a host or the leaders of hosts.
    uniform
        Every host has the same number of ranks.
    """
    if uniform and not part:
        return Choice("SMP_binomial")
    if nbytes < 12288 or ranks <= 8:
        return Choice("binomial_tree")
    if nbytes < 524288 and ranks % 2 == 0:
        return Choice("scatter_rdb_allgather")
    return Choice("scatter_LR_allgather")


def choose_reduce(ranks: int, count: int, nbytes: int, *, part: bool) -> Choice:
    """The choice for `count` elements of `nbytes` bytes in all."""
    if not part:
        return _TWO_LEVEL
    if count < power_of_two_up_to(ranks) or nbytes < 2048:
        return Choice("binomial")
    return Choice("scatter_gather")


def choose_allreduce(ranks: int, count: int, nbytes: int, *, part: bool) -> Choice:
    """The choice for `count` elements of `nbytes` bytes in all."""
    if not part:
        return _TWO_LEVEL
    if nbytes > 2048 and count >= power_of_two_up_to(ranks):
        return Choice("rab_rdb")
    return Choice("rdb")


def choose_gather() -> Choice:
    """A binomial tree, whatever the size."""
    return Choice("ompi_binomial")


def choose_scatter() -> Choice:
    """A binomial tree, whatever the size."""
    return Choice("ompi_binomial")


def choose_allgather(ranks: int, nbytes: int) -> Choice:
    """The choice for `nbytes` bytes in all."""
    if is_power_of_two(ranks) and nbytes < 524288:
        return Choice("rdb")
    return Choice("bruck") if nbytes <= 81920 else Choice("ring")


def choose_allgatherv(ranks: int, count: int) -> Choice | None:
    """The choice for `count` elements in all, whatever their width; None: nothing to do."""
    if count == 0:
        return None
    if is_power_of_two(ranks) and count < 524288:
        return Choice("mpich_rdb")
    return Choice("ompi_bruck") if count <= 81920 else Choice("mpich_ring")


def choose_alltoall(ranks: int, nbytes: int) -> Choice:
    """The choice for blocks of `nbytes` bytes.

    For large blocks on an odd number of ranks SimGrid takes `pair`, which ends with an error.
    """
    if nbytes < 256 and ranks >= 8:
        return Choice("bruck")
    if nbytes < 32768:
        return Choice("mvapich2_scatter_dest")
    return Choice("ring")


def choose_alltoallv() -> Choice:
    """Non-blocking messages in groups, whatever the sizes."""
    return Choice("bruck")


def choose_reduce_scatter(count: int) -> Choice:
    """The choice for `count` elements in all, whatever their width."""
    return Choice("mpich_pair") if count > 524288 else Choice("mpich_rdb")


def barrier(s: Endpoint) -> None:
    """See `choose_barrier`."""
    choose_barrier().call("barrier", s)


def bcast(s: Endpoint, count: int, size: int, root: int) -> None:
    """See `choose_bcast`."""
    part = is_part(s)
    uniform = not part and nodes(s).layout.uniform
    choice = choose_bcast(s.size, count * size, part=part, uniform=uniform)
    choice.call("bcast", s, count, size, root)


def reduce(s: Endpoint, count: int, size: int, root: int) -> None:
    """See `choose_reduce`."""
    choice = choose_reduce(s.size, count, count * size, part=_surveyed_part(s))
    choice.call("reduce", s, count, size, root)


def allreduce(s: Endpoint, count: int, size: int) -> None:
    """See `choose_allreduce`."""
    choice = choose_allreduce(s.size, count, count * size, part=_surveyed_part(s))
    choice.call("allreduce", s, count, size)


def gather(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> None:
    """See `choose_gather`."""
    choose_gather().call("gather", s, scount, ssize, rcount, rsize, root)


def scatter(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> None:
    """See `choose_scatter`; a rank that is not the root takes what it receives for what is sent."""
    if s.rank != root:
        scount, ssize = rcount, rsize
    choose_scatter().call("scatter", s, scount, ssize, rcount, rsize, root)


def allgather(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """See `choose_allgather`."""
    choice = choose_allgather(s.size, scount * ssize * s.size)
    choice.call("allgather", s, scount, ssize, rcount, rsize)


def allgatherv(s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """See `choose_allgatherv`."""
    choice = choose_allgatherv(s.size, sum(rcounts))
    if choice is not None:
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
    choose_reduce_scatter(sum(rcounts)).call("reduce_scatter", s, rcounts, size)


def _surveyed_part(s: Endpoint) -> bool:
    """True for a part of a communicator; the ranks of a whole one learn where they are."""
    part = is_part(s)
    if not part:
        nodes(s)
    return part
