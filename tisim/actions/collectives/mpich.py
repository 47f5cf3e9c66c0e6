"""Algorithms of MPICH 4.0 whose messages differ from those of SimGrid's algorithms.

Each function names the function of MPICH that it follows. Elements and bytes are what the library
counts: pieces of a vector are whole elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tisim.actions.collectives.halving import power_of_two_up_to
from tisim.actions.script import Endpoint

# `MPIR_CVAR_ALLGATHERV_PIPELINE_MSG_SIZE`, in bytes.
_PIECE = 32768


def scatter_binomial(s: Endpoint, nbytes: int, root: int) -> None:
    """Down a tree whose subtrees are intervals, the largest first (`MPIR_Scatter_intra_binomial`).

    Parameters
    ----------
    s
        A rank of the communicator.
    nbytes
        Bytes of a block.
    root
        The rank that has all blocks.
    """
    place = (s.rank - root) % s.size
    mask = 1
    while mask < s.size and not place & mask:
        mask *= 2
    held = min(mask, s.size - place)
    if place:
        s.recv((s.rank - mask) % s.size, held * nbytes)
    while mask := mask // 2:
        if place + mask < s.size:
            s.send((s.rank + mask) % s.size, (held - mask) * nbytes)
            held = mask


def allgatherv_ring(s: Endpoint, counts: Sequence[int], size: int) -> None:
    """Blocks travel around a ring in pieces (`MPIR_Allgatherv_intra_ring`).

    Parameters
    ----------
    s
        A rank of the communicator.
    counts
        Elements of each rank's block.
    size
        Bytes of an element.
    """
    right, left = (s.rank + 1) % s.size, (s.rank - 1) % s.size
    piece = max(counts)
    if piece * size > _PIECE:
        piece = max(_PIECE // size, 1)
    sent = _pieces(counts, s.rank, piece)
    received = _pieces(counts, left, piece)
    for step in range(max(len(sent), len(received))):
        given = sent[step] * size if step < len(sent) else 0
        taken = received[step] * size if step < len(received) else 0
        if given and taken:
            s.sendrecv(right, given, 0, left, taken, 0)
        elif given:
            s.send(right, given)
        elif taken:
            s.recv(left, taken)


def _pieces(counts: Sequence[int], first: int, piece: int) -> list[int]:
    """Elements of all but one block, in pieces: that of `first` and of the ranks before it.

    An empty block takes a step of its own, in which nothing is moved.
    """
    pieces = []
    for back in range(len(counts) - 1):
        count = counts[(first - back) % len(counts)]
        pieces += [min(piece, count - start) for start in range(0, count, piece)] or [0]
    return pieces


def scan(s: Endpoint, nbytes: int) -> None:
    """Recursive doubling with those partners that exist (`MPIR_Scan_intra_recursive_doubling`).

    `MPIR_Exscan_intra_recursive_doubling` sends the same.
    """
    mask = 1
    while mask < s.size:
        peer = s.rank ^ mask
        if peer < s.size:
            s.sendrecv(peer, nbytes, 0, peer, nbytes, 0)
        mask *= 2


# Rabenseifner's reductions: a reduce-scatter by halving, then a gather or an allgather
# (`MPIR_Allreduce_intra_reduce_scatter_allgather`, `MPIR_Reduce_intra_reduce_scatter_gather`). The
# elements that are left over after a division go to the first ranks, one each [Thakur].


class _Round(NamedTuple):
    """One exchange of the halving: with which worker, and the bytes kept and given away."""

    partner: int
    kept: int
    given: int


def allreduce_halving(s: Endpoint, count: int, size: int) -> None:
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


def reduce_halving(s: Endpoint, count: int, size: int, root: int) -> None:
    """Halve while reducing, and collect the parts along a binomial tree; the even ranks work.

    A root that is the odd rank of a pair takes the place of rank 0 for the collection.
    """
    workers = power_of_two_up_to(s.size)
    pairs = s.size - workers

    def rank_of(place: int) -> int:
        return 2 * place if place < pairs else place + pairs

    worker: int | None = s.rank // 2 if s.rank < 2 * pairs else s.rank - pairs
    rounds: list[_Round] = []
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
        part = _even_parts(count, workers)[0] * size
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
) -> list[_Round]:
    rounds = _rounds(worker, workers, count, size)
    for partner, kept, given in rounds:
        peer = rank_of(partner)
        s.sendrecv(peer, given, 0, peer, kept, 0)
    return rounds


def _rounds(worker: int, workers: int, count: int, size: int) -> list[_Round]:
    """The exchanges of a worker, its nearest partner first."""
    ends = [0]
    for piece in _even_parts(count, workers):
        ends.append(ends[-1] + piece * size)
    first, last, rounds = 0, workers, []
    mask = 1
    while mask < workers:
        middle = (first + last) // 2
        lower, upper = ends[middle] - ends[first], ends[last] - ends[middle]
        if worker & mask:
            rounds.append(_Round(worker ^ mask, upper, lower))
            first = middle
        else:
            rounds.append(_Round(worker ^ mask, lower, upper))
            last = middle
        mask *= 2
    return rounds


def _even_parts(count: int, workers: int) -> list[int]:
    """How many elements each part has: as even as possible, the larger ones first."""
    return [count // workers + (part < count % workers) for part in range(workers)]
