"""Vectors in segments or pieces, and forwarding of these."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.collectives.trees import in_order_binomial_tree
from tisim.actions.script import Endpoint


def segment_elements(segment_bytes: int, size: int, count: int) -> int:
    """Number of elements of `size` bytes in a segment of about `segment_bytes`.

    Open MPI's rule: rounded to the nearest number of elements; `count` if the vector is no
    longer than a segment, or an element is longer.
    """
    if not size <= segment_bytes < size * count:
        return count
    elements, rest = divmod(segment_bytes, size)
    return elements + 1 if rest > size // 2 else elements


def cut(count: int, segment: int) -> list[int]:
    """Return the sizes of the segments of `count` elements, all of `segment` but the last."""
    if count == 0:
        return []
    whole, rest = divmod(count, segment)
    return [segment] * whole + ([rest] if rest else [])


def whole_segments(count: int, size: int, segment_bytes: int) -> tuple[int, int]:
    """Elements per segment of at most `segment_bytes` (at least 1), and whole segments in `count`.

    Elements of zero width form one segment.
    """
    segment = max(1, segment_bytes // size) if size else max(1, count)
    return segment, count // segment


def relay(s: Endpoint, source: int | None, targets: Sequence[int], pieces: Sequence[int]) -> None:
    """Forward pieces with non-blocking sends, each as soon as it has arrived.

    `source` is the rank that sends the pieces; None if this rank has them. `targets` are the ranks
    that get each piece. `pieces` are the sizes in bytes.
    """
    receives = [] if source is None else [s.irecv(source, nbytes) for nbytes in pieces]
    if receives and not targets:
        s.waitall(receives)
        return
    sends = []
    for i, nbytes in enumerate(pieces):
        if receives:
            s.wait(receives[i])
        sends += [s.isend(target, nbytes) for target in targets]
    s.waitall(sends)


def forward(s: Endpoint, source: int | None, targets: Sequence[int], pieces: Sequence[int]) -> None:
    """Forward pieces with blocking sends; the parameters are those of `relay`."""
    receives = [] if source is None else [s.irecv(source, nbytes) for nbytes in pieces]
    for i, nbytes in enumerate(pieces):
        if receives:
            s.wait(receives[i])
        for target in targets:
            s.send(target, nbytes)


def send_to_rank_zero(s: Endpoint, nbytes: int, root: int) -> None:
    """Move the data of a broadcast from the root to rank 0, the root of the only tree."""
    if root != 0 and s.rank == root:
        s.send(0, nbytes)
    elif root != 0 and s.rank == 0:
        s.recv(root, nbytes)


class Pieces:
    """A message cut into pieces of equal length, one per rank; the last may be shorter.

    `total` is the size of the message in bytes. `ranks` is the number of pieces. With an uneven
    division, the last ones may be empty.
    """

    __slots__ = ("total", "piece")

    def __init__(self, total: int, ranks: int) -> None:
        self.total = total
        self.piece = -(-total // ranks)

    def nbytes(self, first: int, number: int = 1) -> int:
        """Return the bytes of `number` pieces starting with the piece `first`."""
        return max(0, min(number * self.piece, self.total - first * self.piece))


def scatter_pieces(s: Endpoint, pieces: Pieces, root: int) -> None:
    """Scatter along a binomial tree: each rank receives its subtree's pieces and sends them down.

    Pieces belong to the ranks counted from the root. A receive buffer extends to the end of the
    message, beyond the data received. Empty parts are not sent.
    """
    place = (s.rank - root) % s.size
    parent, children = in_order_binomial_tree(place, s.size, 0)
    if parent is not None and pieces.nbytes(place) > 0:
        s.recv((parent + root) % s.size, pieces.nbytes(place, s.size))
    for child in reversed(children):
        if pieces.nbytes(child) > 0:
            s.send((child + root) % s.size, pieces.nbytes(child, child - place))
