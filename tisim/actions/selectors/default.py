"""The selector `default`: simple algorithms, one for each operation whatever the sizes.

What SimGrid does when nothing is configured (`smpi_default_selector.cpp`): mostly linear
exchanges of non-blocking messages, which no MPI library would use on many ranks.
"""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.collectives import nonblocking
from tisim.actions.collectives.barrier import ompi_basic_linear
from tisim.actions.collectives.bcast import binomial_tree
from tisim.actions.collectives.catalogue import algorithm
from tisim.actions.script import Endpoint


def barrier(s: Endpoint) -> None:
    """Linear, through rank 0."""
    ompi_basic_linear(s)


def bcast(s: Endpoint, count: int, size: int, root: int) -> None:
    """A binomial tree."""
    binomial_tree(s, count, size, root)


def reduce(s: Endpoint, count: int, size: int, root: int) -> None:
    """Linear: the root receives from everybody at once."""
    s.waitall(nonblocking.ireduce(s, count, size, root))


def allreduce(s: Endpoint, count: int, size: int) -> None:
    """A reduction to rank 0, then a broadcast from it."""
    reduce(s, count, size, 0)
    bcast(s, count, size, 0)


def scan(s: Endpoint, count: int, size: int) -> None:
    """Linear: everybody sends to all higher ranks."""
    s.waitall(nonblocking.iscan(s, count, size))


def exscan(s: Endpoint, count: int, size: int) -> None:
    """Linear: everybody sends to all higher ranks."""
    s.waitall(nonblocking.iexscan(s, count, size))


def gather(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> None:
    """Linear: the root receives from everybody at once."""
    s.waitall(nonblocking.igather(s, scount, ssize, rcount, rsize, root))


def gatherv(
    s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int, root: int
) -> None:
    """Linear: the root receives from everybody at once."""
    s.waitall(nonblocking.igatherv(s, scount, ssize, rcounts, rsize, root))


def scatter(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> None:
    """Linear: the root sends to everybody at once."""
    s.waitall(nonblocking.iscatter(s, scount, ssize, rcount, rsize, root))


def scatterv(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcount: int, rsize: int, root: int
) -> None:
    """Linear: the root sends to everybody at once."""
    s.waitall(nonblocking.iscatterv(s, scounts, ssize, rcount, rsize, root))


def allgather(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Everybody exchanges with everybody at once."""
    s.waitall(nonblocking.iallgather(s, scount, ssize, rcount, rsize))


def allgatherv(s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """Everybody exchanges with everybody at once."""
    s.waitall(nonblocking.iallgatherv(s, scount, ssize, rcounts, rsize))


def alltoall(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """The choice of the selector `ompi`."""
    algorithm("alltoall", "ompi")(s, scount, ssize, rcount, rsize)


def alltoallv(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """Everybody exchanges with everybody at once."""
    s.waitall(nonblocking.ialltoallv(s, scounts, ssize, rcounts, rsize))


def reduce_scatter(s: Endpoint, rcounts: Sequence[int], size: int) -> None:
    """A reduction to rank 0 and a scatter from it; what `mpich` takes if the counts differ."""
    if any(count != rcounts[0] for count in rcounts):
        algorithm("reduce_scatter", "mpich")(s, rcounts, size)
        return
    reduce(s, sum(rcounts), size, 0)
    scatterv(s, rcounts, size, rcounts[s.rank], size, 0)
