"""Allgatherv: every rank gets the blocks of all ranks, whose sizes may differ."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, zip_longest

from tisim.actions.collectives.exchanges import exchange_pairwise, exchange_shifted
from tisim.actions.collectives.halving import exchange_doubling
from tisim.actions.script import Endpoint

_SMALLEST_PIECE = 262144  # bytes


def gb(s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """A gatherv and a broadcast.

    Rank 0 collects all blocks and broadcasts them, with the configured broadcast. [Faraj]. The
    blocks are contiguous: gaps between them, which SimGrid would broadcast too, are not part of
    the call.
    """
    s.chosen("gatherv")(s, scount, ssize, rcounts, rsize, 0)
    s.chosen("bcast")(s, sum(rcounts), rsize, 0)


def pair(s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """P - 1 pairwise exchanges.

    Raises an `InputError` when the number of ranks is not a power of two.
    """
    received = [count * rsize for count in rcounts]
    exchange_pairwise(s, "allgatherv", [scount * ssize] * s.size, received)


def ring(s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """P - 1 exchanges at growing distance."""
    exchange_shifted(s, [scount * ssize] * s.size, [count * rsize for count in rcounts])


def ompi_neighborexchange(
    s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """Exchanges with the two neighbours, alternately.

    P/2 steps: one block in the first, then the two blocks received last. [Chen]; as in Open
    MPI. With an odd number of ranks, `ring` is used.
    """
    if s.size % 2:
        ring(s, scount, ssize, rcounts, rsize)
    else:
        exchange_with_neighbours(s, [count * rsize for count in rcounts])


def exchange_with_neighbours(s: Endpoint, blocks: Sequence[int]) -> None:
    """Write the exchanges for an even number of ranks; `blocks`: bytes of each rank's block."""
    rank, size = s.rank, s.size
    ahead, behind = (rank + 1) % size, (rank - 1) % size
    neighbours = (behind, ahead) if rank % 2 else (ahead, behind)
    first = neighbours[0]
    s.sendrecv(first, blocks[rank], 0, first, blocks[first], 0)
    # Blocks travel in pairs that begin with an even rank's: forward the last pair received.
    held = rank - rank % 2
    pairs = [held, held]
    strides = (-2, 2) if rank % 2 else (2, -2)
    for step in range(1, size // 2):
        way = step % 2
        pairs[way] = (pairs[way] + strides[way]) % size
        sent = blocks[held] + blocks[held + 1]
        held = pairs[way]
        received = blocks[held] + blocks[held + 1]
        s.sendrecv(neighbours[way], sent, 0, neighbours[way], received, 0)


def allgather_ring(s: Endpoint, blocks: Sequence[int]) -> None:
    """Send the block received last to the next rank; `blocks`: bytes of each rank's block."""
    right, left = (s.rank + 1) % s.size, (s.rank - 1) % s.size
    for step in range(s.size - 1):
        sent = blocks[(s.rank - step) % s.size]
        s.sendrecv(right, sent, 0, left, blocks[(left - step) % s.size], 0)


def ompi_bruck(s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """Ceil(log2 P) exchanges of a growing number of blocks.

    Send all blocks held to ranks 1, 2, 4... behind; the last step carries the missing blocks.
    [Bruck]; as in Open MPI.
    """
    rank, size = s.rank, s.size
    offsets = list(accumulate((count * rsize for count in (*rcounts, *rcounts)), initial=0))
    distance = 1
    while distance < size:
        blocks = min(distance, size - distance)
        source = (rank + distance) % size
        sent = offsets[rank + blocks] - offsets[rank]
        received = offsets[source + blocks] - offsets[source]
        s.sendrecv((rank - distance) % size, sent, 0, source, received, 0)
        distance *= 2


def mpich_rdb(s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """Recursive doubling.

    Exchange all blocks held with the rank whose number differs in bit 0, 1, 2... A receive buffer
    extends to the last block. If all blocks are empty, nothing is sent. [Thakur].
    """
    offsets = list(accumulate((count * rsize for count in rcounts), initial=0))
    total = offsets[-1]
    if not any(rcounts):
        return
    exchange_doubling(
        s,
        lambda ranks: offsets[ranks.stop] - offsets[ranks.start],
        lambda step: total - offsets[step.theirs.start],
    )


def mpich_ring(s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """Blocks travel around a ring, in pieces.

    Send the piece received last to the next rank, and receive from the previous one. A piece is
    as large as the smallest block, and at least 256 KiB: with blocks of different sizes, a rank
    need not wait for the whole of a large block. MPICH: ring allgatherv; J. L. Träff, A. Ripke,
    C. Siebert, P. Balaji, R. Thakur, W. Gropp: A Simple, Pipelined Algorithm for Large, Irregular
    All-gather Problems. EuroPVM/MPI, 2008.
    """
    allgather_ring_pieces(s, rcounts, rsize, max(min(rcounts), _SMALLEST_PIECE // max(rsize, 1), 1))


def allgather_ring_pieces(s: Endpoint, counts: Sequence[int], size: int, piece: int) -> None:
    """Pass blocks of `counts` elements of `size` bytes around a ring, `piece` elements at once."""
    right, left = (s.rank + 1) % s.size, (s.rank - 1) % s.size
    streams = _pieces(counts, s.rank, piece), _pieces(counts, left, piece)
    for sent, received in zip_longest(*streams, fillvalue=0):
        if sent and received:
            s.sendrecv(right, sent * size, 0, left, received * size, 0)
        elif sent:
            s.send(right, sent * size)
        elif received:
            s.recv(left, received * size)


def _pieces(counts: Sequence[int], first: int, piece: int) -> list[int]:
    """Elements of each piece of P - 1 blocks: that of `first`, then of the ranks before it.

    An empty block is a piece of 0 elements: a step that moves nothing.
    """
    pieces = []
    for back in range(len(counts) - 1):
        count = counts[(first - back) % len(counts)]
        pieces += [min(piece, count - start) for start in range(0, count, piece)] or [0]
    return pieces
