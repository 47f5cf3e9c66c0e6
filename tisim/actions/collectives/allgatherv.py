"""Allgatherv: every rank gets the blocks of all ranks, whose sizes may differ."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from tisim.actions.collectives.halving import demand_power_of_two, recursive_doubling_steps
from tisim.actions.script import Endpoint

_SMALLEST_PIECE = 262144  # bytes


def gb(s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """A gatherv and a broadcast.

    Rank 0 collects all blocks and broadcasts them, with the broadcast chosen. [Faraj]. The
    blocks lie side by side: gaps between them, which SimGrid would broadcast too, are not part
    of the call.
    """
    s.chosen("gatherv")(s, scount, ssize, rcounts, rsize, 0)
    s.chosen("bcast")(s, sum(rcounts), rsize, 0)


def pair(s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """P - 1 exchanges in pairs.

    In step i exchange blocks with the rank whose number differs by exclusive or with i.
    [Faraj]. Raises an `InputError` when the number of ranks is not a power of two.
    """
    demand_power_of_two(s.size, "allgatherv algorithm pair")
    rank, sendrecv = s.rank, s.sendrecv
    sent = scount * ssize
    for step in range(1, s.size):
        peer = rank ^ step
        sendrecv(peer, sent, 0, peer, rcounts[peer] * rsize, 0)


def ring(s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """P - 1 exchanges with partners at growing distance.

    In step i send the own block i ranks ahead and receive one from i ranks behind. [Faraj].
    """
    rank, size, sendrecv = s.rank, s.size, s.sendrecv
    sent = scount * ssize
    for step in range(1, size):
        source = (rank - step) % size
        sendrecv((rank + step) % size, sent, 0, source, rcounts[source] * rsize, 0)


def ompi_neighborexchange(
    s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """Exchanges with the two neighbours in turn.

    P/2 steps: one block in the first, then the two blocks that came last. [Chen]; as in Open
    MPI. An odd number of ranks takes `ring`.
    """
    rank, size = s.rank, s.size
    if size % 2:
        ring(s, scount, ssize, rcounts, rsize)
        return
    ahead, behind = (rank + 1) % size, (rank - 1) % size
    neighbours = (behind, ahead) if rank % 2 else (ahead, behind)
    first = neighbours[0]
    s.sendrecv(first, rcounts[rank] * rsize, 0, first, rcounts[first] * rsize, 0)
    # Blocks travel in pairs that begin with an even rank's: the last pair received goes on.
    held = rank - rank % 2
    pairs = [held, held]
    strides = (-2, 2) if rank % 2 else (2, -2)
    for step in range(1, size // 2):
        way = step % 2
        pairs[way] = (pairs[way] + strides[way]) % size
        sent = rcounts[held] + rcounts[held + 1]
        held = pairs[way]
        received = rcounts[held] + rcounts[held + 1]
        s.sendrecv(neighbours[way], sent * rsize, 0, neighbours[way], received * rsize, 0)


def ompi_bruck(s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """Ceil(log2 P) exchanges of a growing number of blocks.

    Send all blocks held to ranks 1, 2, 4... behind; the last step carries what is missing.
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

    Exchange all blocks held with the rank whose number differs in bit 0, 1, 2... A receive has
    room for everything up to the last block. Nothing happens when there is nothing to gather.
    [Thakur].
    """
    offsets = list(accumulate((count * rsize for count in rcounts), initial=0))
    total = offsets[-1]
    if not any(rcounts):
        return
    for step in recursive_doubling_steps(s.rank, s.size):
        mine = offsets[step.mine.stop] - offsets[step.mine.start]
        room = total - offsets[min(step.theirs.start, s.size)]
        if step.partner is not None:
            s.sendrecv(step.partner, mine, 0, step.partner, room, 0)
        for is_sent, peer in step.relays:
            if is_sent:
                s.send(peer, offsets[step.theirs.stop] - offsets[step.theirs.start])
            else:
                s.recv(peer, room)


def mpich_ring(s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """Blocks travel around a ring in pieces.

    Send to the next rank what came last, and receive from the one before, piece by piece. A
    piece is as large as the smallest block, and at least 256 KiB: with blocks of different
    sizes a rank is not held up until all of a large block has come. MPICH: ring allgatherv; J.
    L. Träff, A. Ripke, C. Siebert, P. Balaji, R. Thakur, W. Gropp: A Simple, Pipelined
    Algorithm for Large, Irregular All-gather Problems. EuroPVM/MPI, 2008.
    """
    rank, size = s.rank, s.size
    ahead, behind = (rank + 1) % size, (rank - 1) % size
    outgoing = _Stream(rcounts, rank, ahead)
    incoming = _Stream(rcounts, behind, rank)
    piece = max(min(rcounts), _SMALLEST_PIECE // max(rsize, 1), 1)
    while outgoing.left or incoming.left:
        sent, received = outgoing.take(piece), incoming.take(piece)
        if sent and received:
            s.sendrecv(ahead, sent * rsize, 0, behind, received * rsize, 0)
        elif sent:
            s.send(ahead, sent * rsize)
        elif received:
            s.recv(behind, received * rsize)


class _Stream:
    """The blocks that pass one edge of the ring: downwards from `first`, all but `last`."""

    __slots__ = ("counts", "block", "offset", "left")

    def __init__(self, counts: Sequence[int], first: int, last: int) -> None:
        self.counts = counts
        self.block = first
        self.offset = 0
        self.left = sum(counts) - counts[last]

    def take(self, piece: int) -> int:
        """The number of elements in the next piece; 0 at an empty block and at the end."""
        count = min(piece, self.counts[self.block] - self.offset) if self.left else 0
        self.left -= count
        self.offset += count
        if self.offset == self.counts[self.block]:
            self.offset = 0
            self.block = (self.block - 1) % len(self.counts)
        return count
