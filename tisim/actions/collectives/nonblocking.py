"""Non-blocking collectives: linear exchanges whose requests are all started by the call.

Each function starts its requests in a fixed order and returns their numbers; who calls it waits
for them, at once (most operations of the `default` selector) or later (`MPI_Ibcast` and the
others). The patterns and the order of the requests are those of SimGrid's `smpi_nbc_impl.cpp`.
"""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.script import ANY_SOURCE, Endpoint

# The receives of a barrier's root take a message from any rank, but only a barrier's.
_BARRIER_TAG = 1


def ibarrier(s: Endpoint) -> list[int]:
    """Everybody reports to rank 0 and waits for its answer, which depends on nothing."""
    if s.rank > 0:
        return [s.isend(0, 0, _BARRIER_TAG), s.irecv(0, 0, _BARRIER_TAG)]
    requests = []
    for other in range(1, s.size):
        requests.append(s.irecv(ANY_SOURCE, 0, _BARRIER_TAG))
        requests.append(s.isend(other, 0, _BARRIER_TAG))
    return requests


def ibcast(s: Endpoint, count: int, size: int, root: int) -> list[int]:
    """The root sends to every other rank."""
    nbytes = count * size
    if s.rank != root:
        return [s.irecv(root, nbytes)]
    return [s.isend(other, nbytes) for other in range(s.size) if other != root]


def ireduce(s: Endpoint, count: int, size: int, root: int) -> list[int]:
    """The root receives from every other rank."""
    return igather(s, count, size, count, size, root)


def igather(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> list[int]:
    """The root receives one block from every other rank."""
    if s.rank != root:
        return [s.isend(root, scount * ssize)]
    return [s.irecv(other, rcount * rsize) for other in range(s.size) if other != root]


def igatherv(
    s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int, root: int
) -> list[int]:
    """The root receives from every other rank a block of that rank's size."""
    if s.rank != root:
        return [s.isend(root, scount * ssize)]
    return [s.irecv(other, rcounts[other] * rsize) for other in range(s.size) if other != root]


def iscatter(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> list[int]:
    """The root sends one block to every other rank."""
    if s.rank != root:
        return [s.irecv(root, rcount * rsize)]
    return [s.isend(other, scount * ssize) for other in range(s.size) if other != root]


def iscatterv(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcount: int, rsize: int, root: int
) -> list[int]:
    """The root sends to every other rank a block of that rank's size."""
    if s.rank != root:
        return [s.irecv(root, rcount * rsize)]
    return [s.isend(other, scounts[other] * ssize) for other in range(s.size) if other != root]


def iallreduce(s: Endpoint, count: int, size: int) -> list[int]:
    """Every rank exchanges all of its data with every other rank."""
    return iallgather(s, count, size, count, size)


def iallgather(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> list[int]:
    """Every rank exchanges its block with every other rank, in the order of the ranks."""
    requests = []
    for other in range(s.size):
        if other != s.rank:
            requests.append(s.isend(other, scount * ssize))
            requests.append(s.irecv(other, rcount * rsize))
    return requests


def iallgatherv(
    s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int
) -> list[int]:
    """`iallgather` with a size of its own for every rank's block."""
    requests = []
    for other in range(s.size):
        if other != s.rank:
            requests.append(s.isend(other, scount * ssize))
            requests.append(s.irecv(other, rcounts[other] * rsize))
    return requests


def ialltoall(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> list[int]:
    """All receives upwards from the next rank, then all sends downwards from the one before."""
    others = [(s.rank + i) % s.size for i in range(1, s.size)]
    requests = [s.irecv(other, rcount * rsize) for other in others]
    requests += [s.isend(other, scount * ssize) for other in reversed(others)]
    return requests


def ialltoallv(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> list[int]:
    """All receives, then all sends, both in the order of the ranks."""
    others = [other for other in range(s.size) if other != s.rank]
    requests = [s.irecv(other, rcounts[other] * rsize) for other in others]
    requests += [s.isend(other, scounts[other] * ssize) for other in others]
    return requests


def iscan(s: Endpoint, count: int, size: int) -> list[int]:
    """Every rank receives from all lower ranks and sends to all higher ones."""
    nbytes = count * size
    requests = [s.irecv(other, nbytes) for other in range(s.rank)]
    requests += [s.isend(other, nbytes) for other in range(s.rank + 1, s.size)]
    return requests


def iexscan(s: Endpoint, count: int, size: int) -> list[int]:
    """`iscan`: only what the ranks do with the data differs."""
    return iscan(s, count, size)


def ireduce_scatter(s: Endpoint, rcounts: Sequence[int], size: int) -> list[int]:
    """Every rank sends every other one its part, and reduces what it receives of its own."""
    requests = []
    for other in range(s.size):
        if other != s.rank:
            requests.append(s.isend(other, rcounts[other] * size))
            requests.append(s.irecv(other, rcounts[s.rank] * size))
    return requests
