"""Non-blocking collectives: linear exchanges whose requests are all started by the call.

Each function starts its requests in a fixed order and returns their numbers; the caller waits for
them, immediately (most operations of the `default` selector) or later (`MPI_Ibcast` and others).
The patterns and the order of the requests are those of SimGrid's `smpi_nbc_impl.cpp`.
"""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.script import ANY_SOURCE, Endpoint

# The root of a barrier receives from any rank; the tag restricts it to barriers' messages.
_BARRIER_TAG = 1


def _all_but(rank: int, size: int) -> list[int]:
    return [*range(rank), *range(rank + 1, size)]


def ibarrier(s: Endpoint) -> list[int]:
    """Every rank reports to rank 0 and receives its answer, which does not wait for the reports."""
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
    return s.isends(_all_but(root, s.size), [nbytes] * (s.size - 1))


def ireduce(s: Endpoint, count: int, size: int, root: int) -> list[int]:
    """The root receives from every other rank."""
    return igather(s, count, size, count, size, root)


def igather(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> list[int]:
    """The root receives one block from every other rank."""
    if s.rank != root:
        return [s.isend(root, scount * ssize)]
    return s.irecvs(_all_but(root, s.size), [rcount * rsize] * (s.size - 1))


def igatherv(
    s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int, root: int
) -> list[int]:
    """The root receives from every other rank a block of that rank's size."""
    if s.rank != root:
        return [s.isend(root, scount * ssize)]
    others = _all_but(root, s.size)
    return s.irecvs(others, [rcounts[other] * rsize for other in others])


def iscatter(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int) -> list[int]:
    """The root sends one block to every other rank."""
    if s.rank != root:
        return [s.irecv(root, rcount * rsize)]
    return s.isends(_all_but(root, s.size), [scount * ssize] * (s.size - 1))


def iscatterv(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcount: int, rsize: int, root: int
) -> list[int]:
    """The root sends to every other rank a block of that rank's size."""
    if s.rank != root:
        return [s.irecv(root, rcount * rsize)]
    others = _all_but(root, s.size)
    return s.isends(others, [scounts[other] * ssize for other in others])


def iallreduce(s: Endpoint, count: int, size: int) -> list[int]:
    """Every rank exchanges all of its data with every other rank."""
    return iallgather(s, count, size, count, size)


def iallgather(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> list[int]:
    """Every rank exchanges its block with every other rank, in the order of the ranks."""
    return iallgatherv(s, scount, ssize, [rcount] * s.size, rsize)


def iallgatherv(
    s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int
) -> list[int]:
    """`iallgather` with a separate size for every rank's block."""
    requests = []
    for other in range(s.size):
        if other != s.rank:
            requests.append(s.isend(other, scount * ssize))
            requests.append(s.irecv(other, rcounts[other] * rsize))
    return requests


def ialltoall(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> list[int]:
    """All receives upwards from the next rank, then all sends downwards from the previous one."""
    others = [*range(s.rank + 1, s.size), *range(s.rank)]
    requests = s.irecvs(others, [rcount * rsize] * len(others))
    return requests + s.isends(others[::-1], [scount * ssize] * len(others))


def ialltoallv(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> list[int]:
    """All receives, then all sends, both in the order of the ranks."""
    others = _all_but(s.rank, s.size)
    requests = s.irecvs(others, [rcounts[other] * rsize for other in others])
    return requests + s.isends(others, [scounts[other] * ssize for other in others])


def iscan(s: Endpoint, count: int, size: int) -> list[int]:
    """Every rank receives from all lower ranks and sends to all higher ones."""
    nbytes = count * size
    above = range(s.rank + 1, s.size)
    requests = s.irecvs(range(s.rank), [nbytes] * s.rank)
    return requests + s.isends(above, [nbytes] * len(above))


iexscan = iscan  # differs only in the use of the data


def ireduce_scatter(s: Endpoint, rcounts: Sequence[int], size: int) -> list[int]:
    """Every rank sends each other rank its part, and reduces the received copies of its own."""
    requests = []
    for other in range(s.size):
        if other != s.rank:
            requests.append(s.isend(other, rcounts[other] * size))
            requests.append(s.irecv(other, rcounts[s.rank] * size))
    return requests
