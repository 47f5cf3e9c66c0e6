"""Rabenseifner's reductions: a reduce-scatter by halving, then a gather or an allgather.

`MPIR_Allreduce_intra_reduce_scatter_allgather` and `MPIR_Reduce_intra_reduce_scatter_gather`. The
elements that are left over after a division go to the first ranks, one each. R. Thakur,
R. Rabenseifner, W. Gropp: Optimization of collective communication operations in MPICH. IJHPCA 19
(2005).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tisim.actions.collectives.topology import power_of_two_up_to
from tisim.actions.script import Endpoint


class Round(NamedTuple):
    """One exchange of the halving: with which worker, and the bytes kept and given away."""

    partner: int
    kept: int
    given: int


def allreduce(s: Endpoint, count: int, size: int) -> None:
    """Halve while reducing, and double back; of the first pairs the odd ranks work."""
    workers = power_of_two_up_to(s.size)
    pairs = s.size - workers
    nbytes = count * size
    if s.rank < 2 * pairs and s.rank % 2 == 0:
        s.send(s.rank + 1, nbytes)
        s.recv(s.rank + 1, nbytes)
        return
    worker = s.rank // 2 if s.rank < 2 * pairs else s.rank - pairs
    if worker < pairs:
        s.recv(s.rank - 1, nbytes)

    def rank_of(place: int) -> int:
        return 2 * place + 1 if place < pairs else place + pairs

    rounds = _halve(s, worker, workers, count, size, rank_of)
    for partner, kept, given in reversed(rounds):
        peer = rank_of(partner)
        s.sendrecv(peer, kept, 0, peer, given, 0)
    if worker < pairs:
        s.send(s.rank - 1, nbytes)


def reduce(s: Endpoint, count: int, size: int, root: int) -> None:
    """Halve while reducing, and collect the parts along a binomial tree; the even ranks work.

    A root that is the odd rank of a pair takes the place of rank 0 for the collection.
    """
    workers = power_of_two_up_to(s.size)
    pairs = s.size - workers

    def rank_of(place: int) -> int:
        return 2 * place if place < pairs else place + pairs

    worker: int | None = s.rank // 2 if s.rank < 2 * pairs else s.rank - pairs
    rounds: list[Round] = []
    if s.rank < 2 * pairs and s.rank % 2:
        s.send(s.rank - 1, count * size)
        worker = None
    elif s.rank < 2 * pairs:
        s.recv(s.rank + 1, count * size)
    if worker is not None:
        rounds = _halve(s, worker, workers, count, size, rank_of)
    stands_in = root < 2 * pairs and root % 2 == 1
    head = 0 if stands_in else root // 2 if root < 2 * pairs else root - pairs
    if stands_in:
        part = _pieces(count, workers)[0] * size
        if s.rank == root:
            s.recv(0, part)
            worker, rounds = 0, _rounds(0, workers, count, size)
        elif s.rank == 0:
            s.send(root, part)
            return
    if worker is None:
        return
    for bit in range(len(rounds) - 1, -1, -1):
        partner, kept, given = rounds[bit]
        # The order of the parts is that of the bits, the first round's bit above all others.
        peer = root if stands_in and partner == 0 else rank_of(partner)
        if partner >> bit == head >> bit:
            s.send(peer, kept)
            return
        s.recv(peer, given)


def _halve(
    s: Endpoint,
    worker: int,
    workers: int,
    count: int,
    size: int,
    rank_of: Callable[[int], int],
) -> list[Round]:
    rounds = _rounds(worker, workers, count, size)
    for partner, kept, given in rounds:
        peer = rank_of(partner)
        s.sendrecv(peer, given, 0, peer, kept, 0)
    return rounds


def _rounds(worker: int, workers: int, count: int, size: int) -> list[Round]:
    """The exchanges of a worker, its nearest partner first."""
    ends = [0]
    for piece in _pieces(count, workers):
        ends.append(ends[-1] + piece * size)
    first, last, rounds = 0, workers, []
    mask = 1
    while mask < workers:
        middle = (first + last) // 2
        lower, upper = ends[middle] - ends[first], ends[last] - ends[middle]
        if worker & mask:
            rounds.append(Round(worker ^ mask, upper, lower))
            first = middle
        else:
            rounds.append(Round(worker ^ mask, lower, upper))
            last = middle
        mask *= 2
    return rounds


def _pieces(count: int, workers: int) -> list[int]:
    """How many elements each part has: as even as possible, the larger ones first."""
    return [count // workers + (part < count % workers) for part in range(workers)]
