"""Non-blocking collectives of Open MPI's component `coll/libnbc`, in rounds.

A round is the messages up to a `waitall`, or up to a `pause` where the library only copies or
reduces first. The call starts the first one; the library goes on with the next when all of the
round is complete and its rank waits, tests or probes. Each function names the file of Open MPI
4.1.4 that it follows. The algorithms are those that the library takes without options, for
reductions that commute and buffers that are not in place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tisim.actions.collectives import nonblocking
from tisim.actions.collectives.halving import Folding, fold
from tisim.actions.script import Script

# An allreduce of so many bytes on so many ranks halves the vector; a broadcast on more ranks than
# these has a tree.
_LONG_ALLREDUCE = 65536
_FEW_RANKS = 4

igather, igatherv = nonblocking.igather, nonblocking.igatherv
iscatter, iscatterv = nonblocking.iscatter, nonblocking.iscatterv


def ibarrier(s: Script) -> None:
    """Dissemination (`nbc_ibarrier.c`)."""
    distance = 1
    while distance < s.size:
        round_ = [
            s.isend((s.rank + distance) % s.size, 0),
            s.irecv((s.rank - distance) % s.size, 0),
        ]
        distance *= 2
        if distance < s.size:
            s.waitall(round_)


def ibcast(s: Script, count: int, size: int, root: int) -> None:
    """Linear, or a binomial tree (`nbc_ibcast.c`, which leaves sizes out unless it is told)."""
    if s.size < 2 or count == 0:
        return
    if s.size <= _FEW_RANKS:
        nonblocking.ibcast(s, count, size, root)
    else:
        _down_a_tree(s, count * size, root)


def _swapped(rank: int, root: int) -> int:
    """A rank's number in a tree, and back: the root and rank 0 have changed places."""
    return {0: root, root: 0}.get(rank, rank)


def _down_a_tree(s: Script, nbytes: int, root: int) -> None:
    """From the parent, then to all children at once, those nearby first."""
    me = _swapped(s.rank, root)
    distance = 1
    if me > 0:
        distance = 1 << (me.bit_length() - 1)
        s.waitall([s.irecv(_swapped(me - distance, root), nbytes)])
        distance *= 2
    while me + distance < s.size:
        s.isend(_swapped(me + distance, root), nbytes)
        distance *= 2


def _up_a_tree(s: Script, nbytes: int, root: int) -> int | None:
    """From child after child, then to the parent; the request of that, None for the root."""
    me = _swapped(s.rank, root)
    distance = 1
    while distance < s.size:
        if me & distance:
            return s.isend(_swapped(me - distance, root), nbytes)
        if me + distance < s.size:
            s.waitall([s.irecv(_swapped(me + distance, root), nbytes)])
        distance *= 2
    return None


def ireduce(s: Script, count: int, size: int, root: int) -> None:
    """Rabenseifner's; a binomial tree where the vector is too short (`nbc_ireduce.c`)."""
    if s.size < 2 or count == 0:
        return
    folding = fold(s.size, working=0)
    if s.size == 2 and count * size >= _LONG_ALLREDUCE:
        _along_a_chain(s, count, size, root)
    elif s.size == 2 or count < folding.workers:
        _up_a_tree(s, count * size, root)
    else:
        _reduce_by_halving(s, folding, count, size, root)


_CHAIN_FRAGMENT = 8192


def _along_a_chain(s: Script, count: int, size: int, root: int) -> None:
    """Two ranks: fragment after fragment."""
    fragments = -(-count * size // _CHAIN_FRAGMENT)
    each = count // fragments
    for fragment in range(fragments):
        elements = each if fragment < fragments - 1 else count - each * fragment
        if s.rank == root:
            s.waitall([s.irecv(1 - root, elements * size)])
        else:
            s.waitall([s.isend(root, elements * size)])


def iallreduce(s: Script, count: int, size: int) -> None:
    """Up and down a binomial tree, or Rabenseifner's, or around a ring (`nbc_iallreduce.c`)."""
    if s.size < 2 or count == 0:
        return
    folding = fold(s.size, working=0)
    if s.size < _FEW_RANKS or count * size < _LONG_ALLREDUCE:
        _up_and_down(s, count * size)
    elif count >= folding.workers:
        _allreduce_by_halving(s, folding, count, size)
    else:
        _around_a_ring(s, count, size)


def _up_and_down(s: Script, nbytes: int) -> None:
    sent = _up_a_tree(s, nbytes, 0)
    if sent is None:
        _down_a_tree(s, nbytes, 0)
        return
    parent = s.rank - (1 << (s.rank.bit_length() - 1))
    received = s.irecv(parent, nbytes)
    distance = 1 << s.rank.bit_length()
    s.waitall([sent, received])
    while s.rank + distance < s.size:
        s.isend(s.rank + distance, nbytes)
        distance *= 2


def _around_a_ring(s: Script, count: int, size: int) -> None:
    """A reduce-scatter and an allgather around a ring; the first ranks have the odd elements."""
    each, left = divmod(count, s.size)

    def nbytes(part: int) -> int:
        return (each + (part % s.size < left)) * size

    for step in range(2 * s.size - 2):
        sent = s.isend((s.rank + 1) % s.size, nbytes(s.rank + 1 - step))
        received = s.irecv((s.rank - 1) % s.size, nbytes(s.rank - step))
        s.waitall([sent, received])


class _Half(NamedTuple):
    """A step of halving: whom with, what this rank gives away and what it keeps, elements."""

    step: int
    partner: int
    sent: int
    kept: int


def _halves(rank: int, worker: int, folding: Folding, count: int) -> Iterator[_Half]:
    """The steps of a worker; the lower rank of two keeps the first half, rounded down."""
    window = count
    for step in range(folding.workers.bit_length() - 1):
        partner = folding.rank(worker ^ 1 << step)
        first = window // 2
        kept = first if rank < partner else window - first
        yield _Half(step, partner, window - kept, kept)
        window = kept


def _exchange(s: Script, partner: int, sent: int, received: int) -> None:
    s.waitall([s.isend(partner, sent), s.irecv(partner, received)])


def _fold_in_halves(s: Script, folding: Folding, count: int, size: int) -> int | None:
    """The two ranks of a pair reduce half the vector each; this rank's number as a worker.

    What it sends first it has copied in a round before.
    """
    s.pause()
    if s.rank >= 2 * folding.pairs:
        return folding.worker(s.rank)
    left = count // 2 * size
    right = (count - count // 2) * size
    if s.rank % 2:
        _exchange(s, s.rank - 1, left, right)
        s.waitall([s.isend(s.rank - 1, right)])
        return None
    _exchange(s, s.rank + 1, right, left)
    s.waitall([s.irecv(s.rank + 1, right)])
    return s.rank // 2


def _reduce_halves(
    s: Script, folding: Folding, worker: int | None, count: int, size: int
) -> list[_Half]:
    """A reduce-scatter by halving; its steps, none for an idle rank."""
    halves = [] if worker is None else list(_halves(s.rank, worker, folding, count))
    for half in halves:
        _exchange(s, half.partner, half.sent * size, half.kept * size)
    return halves


def _allreduce_by_halving(s: Script, folding: Folding, count: int, size: int) -> None:
    """Rabenseifner's: an allgather undoes the halving."""
    worker = _fold_in_halves(s, folding, count, size)
    for half in reversed(_reduce_halves(s, folding, worker, count, size)):
        _exchange(s, half.partner, half.kept * size, half.sent * size)
    if s.rank >= 2 * folding.pairs:
        return
    if worker is None:
        s.irecv(s.rank - 1, count * size)
    else:
        s.isend(s.rank + 1, count * size)


def _reduce_by_halving(s: Script, folding: Folding, count: int, size: int, root: int) -> None:
    """Rabenseifner's: a gather up a tree to the root, which replaces worker 0 if it is idle."""
    worker = _fold_in_halves(s, folding, count, size)
    halves = _reduce_halves(s, folding, worker, count, size)
    root_worker = folding.worker(root)
    if root_worker is None:
        root_worker = 0
        if s.rank == root:
            worker = 0
            halves = list(_halves(-1, 0, folding, count))
            s.waitall([s.irecv(0, halves[-1].kept * size)])
        elif worker == 0:
            s.waitall([s.isend(root, halves[-1].kept * size)])
            return
    if worker is None:
        return
    for half in reversed(halves):
        other = worker ^ 1 << half.step
        partner = root if other == 0 and folding.worker(root) is None else folding.rank(other)
        if other >> half.step == root_worker >> half.step:
            s.isend(partner, half.kept * size)
            return
        s.waitall([s.irecv(partner, half.sent * size)])


def iallgather(s: Script, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """From and to all others, in the order of the ranks (`nbc_iallgather.c`)."""
    for other in range(s.size):
        if other != s.rank:
            s.irecv(other, rcount * rsize)
            s.isend(other, scount * ssize)


def iallgatherv(s: Script, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """From ranks below and to ranks above at growing distance (`nbc_iallgatherv.c`)."""
    for distance in range(1, s.size):
        source = (s.rank - distance) % s.size
        s.irecv(source, rcounts[source] * rsize)
        s.isend((s.rank + distance) % s.size, scount * ssize)


def ialltoall(s: Script, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """From and to all others, in the order of the ranks (`nbc_ialltoall.c`)."""
    iallgather(s, scount, ssize, rcount, rsize)


def ialltoallv(
    s: Script, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """To and from all others, in the order of the ranks; nothing empty (`nbc_ialltoallv.c`)."""
    for other in range(s.size):
        if other != s.rank and scounts[other] > 0:
            s.isend(other, scounts[other] * ssize)
        if other != s.rank and rcounts[other] > 0:
            s.irecv(other, rcounts[other] * rsize)


def ireduce_scatter(s: Script, rcounts: Sequence[int], size: int) -> None:
    """Up a binomial tree to rank 0, which sends every rank its part (`nbc_ireduce_scatter.c`)."""
    if s.size < 2 or sum(rcounts) == 0:
        return
    sent = _up_a_tree(s, sum(rcounts) * size, 0)
    if sent is not None:
        s.waitall([sent])
        s.irecv(0, rcounts[s.rank] * size)
    else:
        s.isends(range(1, s.size), [count * size for count in rcounts[1:]])


def iscan(s: Script, count: int, size: int) -> None:
    """From the rank below, then to the one above (`nbc_iscan.c`)."""
    if count == 0:
        return
    if s.rank > 0:
        received = s.irecv(s.rank - 1, count * size)
        if s.rank < s.size - 1:
            s.waitall([received])
    if s.rank < s.size - 1:
        s.isend(s.rank + 1, count * size)


iexscan = iscan  # `nbc_iexscan.c`
