"""Reduce-scatter: every rank gets its block of the reduction of all vectors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from tisim.actions.collectives.halving import (
    Folding,
    exchange_doubling,
    fold,
    halve,
    halving_steps,
    require_power_of_two,
    reversed_bits,
)
from tisim.actions.script import Endpoint
from tisim.errors import InputError


def ompi_basic_recursivehalving(s: Endpoint, rcounts: Sequence[int], size: int) -> None:
    """Recursive halving.

    Exchange half of the remaining blocks with the rank P/2, P/4, P/8... away. If the number of
    ranks is not a power of two, some first send their data to a neighbour and get their block
    at the end. If all blocks are empty, nothing is sent. [Thakur]; as in Open MPI. If one of
    the two halves is empty, SimGrid does not exchange the other one either.
    """
    if not any(rcounts):
        return
    rank, folding = s.rank, fold(s.size)
    worker = folding.fold_in(s, sum(rcounts) * size)
    if worker is not None:
        _halve(s, worker, folding, folding.offsets(rcounts, size))
    idle = rank if worker is None else rank - 1  # of the pair
    if rank < 2 * folding.pairs and rcounts[idle]:
        folding.fold_out(s, rcounts[idle] * size)


def _halve(s: Endpoint, worker: int, folding: Folding, offsets: Sequence[int]) -> None:
    """Write the exchanges of one worker; the blocks from `low` to `high` remain."""
    low, high = 0, folding.workers
    distance = folding.workers // 2
    while distance:
        middle = low + distance
        lower, upper = offsets[middle] - offsets[low], offsets[high] - offsets[middle]
        keeps_lower = not worker & distance
        sent, received = (upper, lower) if keeps_lower else (lower, upper)
        if sent and received:
            peer = folding.rank(worker ^ distance)
            request = s.irecv(peer, received)
            s.send(peer, sent)
            s.wait(request)
            s.combine(received)
        low, high = (low, middle) if keeps_lower else (middle, high)
        distance //= 2


def ompi_ring(s: Endpoint, rcounts: Sequence[int], size: int) -> None:
    """Partial results travel around a ring.

    P - 1 times, add this rank's share to the received block and send it to the next rank. The
    next receive is posted before waiting for the last one. Receive buffers fit the largest
    block. Open MPI, ``coll/tuned``: ring reduce-scatter.
    """
    rank, ranks = s.rank, s.size
    if ranks == 1:
        return
    ahead, behind = (rank + 1) % ranks, (rank - 1) % ranks
    room = max(rcounts) * size
    arriving = s.irecv(behind, room)
    s.send(ahead, rcounts[behind] * size)
    for step in range(2, ranks):
        request = s.irecv(behind, room)
        s.wait(arriving)
        arriving = request
        reduced = rcounts[(rank - step) % ranks] * size
        s.combine(reduced)
        s.send(ahead, reduced)
    s.wait(arriving)
    s.combine(rcounts[rank] * size)


def ompi_butterfly(s: Endpoint, rcounts: Sequence[int], size: int) -> None:
    """Butterfly.

    Exchange half of the remaining blocks with the rank 1, 2, 4... away; then send the blocks, which
    are at the rank whose number has the bits in reverse order, to their ranks. If the number of
    ranks is not a power of two, some first send their data to a neighbour. J. L. Träff: An
    Improved Algorithm for (Non-commutative) Reduce-scatter with an Application. EuroPVM/MPI,
    2005; as in Open MPI.
    """
    rank, ranks = s.rank, s.size
    if ranks < 2:
        return
    folding = fold(ranks)
    worker = folding.fold_in(s, sum(rcounts) * size)
    if worker is None:
        s.recv(folding.rank(reversed_bits(rank // 2, folding.workers)), rcounts[rank] * size)
        return
    ends = folding.offsets(rcounts, size)
    halve(s, folding, halving_steps(worker, folding.workers, ends.__getitem__))
    _deliver(s, worker, folding, rcounts, size)


def _deliver(s: Endpoint, worker: int, folding: Folding, rcounts: Sequence[int], size: int) -> None:
    """Send the block that `worker` holds to its one or two ranks, and receive its own."""
    owner = reversed_bits(worker, folding.workers)
    peer = folding.rank(owner)
    if owner < folding.pairs:
        s.send(peer - 1, rcounts[peer - 1] * size)
    if owner != worker:
        s.sendrecv(peer, rcounts[peer] * size, 0, peer, rcounts[s.rank] * size, 0)


def mpich_pair(s: Endpoint, rcounts: Sequence[int], size: int) -> None:
    """P - 1 exchanges of single blocks.

    In step i, send the rank i ahead its block and receive a block from the rank i behind. If all
    blocks are empty, nothing is sent. [Thakur] (pairwise exchange).
    """
    if not any(rcounts):
        return
    rank, ranks, sendrecv = s.rank, s.size, s.sendrecv
    mine = rcounts[rank] * size
    for step in range(1, ranks):
        ahead = (rank + step) % ranks
        sendrecv(ahead, rcounts[ahead] * size, 0, (rank - step) % ranks, mine, 0)
        s.combine(mine)


def mpich_rdb(s: Endpoint, rcounts: Sequence[int], size: int) -> None:
    """Recursive doubling.

    In step k, send all blocks but those of the 2^k ranks of this rank's subtree.
    [Thakur].
    """
    offsets = list(accumulate((count * size for count in rcounts), initial=0))
    total = offsets[-1]
    exchange_doubling(s, lambda ranks: total - offsets[ranks.stop] + offsets[ranks.start])


def mpich_noncomm(s: Endpoint, rcounts: Sequence[int], size: int) -> None:
    """Recursive halving that keeps the order of the operands.

    In step k exchange half of the blocks with the rank that differs in bit k. M. Bernaschi,
    G. Iannello, M. Lauria: Efficient Implementation of Reduce-scatter in MPI. J. Systems
    Architecture 49(3), 2003; as in MPICH. Raises an `InputError` when the number of ranks is
    not a power of two, or the blocks are not of equal size.
    """
    require_power_of_two(s.size, "reduce_scatter algorithm mpich_noncomm")
    if any(count != rcounts[0] for count in rcounts):
        raise InputError(
            "reduce_scatter algorithm mpich_noncomm needs the same count for every rank: "
            "choose another algorithm"
        )
    left = rcounts[0] * s.size
    distance = 1
    while distance < s.size:
        left //= 2
        peer = s.rank ^ distance
        s.sendrecv(peer, left * size, 0, peer, left * size, 0)
        s.combine(left * size)
        distance *= 2
