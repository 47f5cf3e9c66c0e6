"""Allgatherv: blocks travel around a ring in pieces."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.script import Endpoint

_SMALLEST_PIECE = 262144  # bytes


def mpich_ring(s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """Send to the next rank what came last, and receive from the one before, piece by piece.

    A piece is as large as the smallest block, and at least 256 KiB: with blocks of different
    sizes a rank is not held up until all of a large block has come.

    References
    ----------
    MPICH: ring allgatherv; J. L. Träff, A. Ripke, C. Siebert, P. Balaji, R. Thakur, W. Gropp: A
    Simple, Pipelined Algorithm for Large, Irregular All-gather Problems. EuroPVM/MPI, 2008.
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
