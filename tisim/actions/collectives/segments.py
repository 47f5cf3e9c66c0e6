"""Vectors in segments or pieces, and how they are passed on."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.collectives.trees import in_order_binomial_tree
from tisim.actions.script import Endpoint


def segment_elements(segment_bytes: int, size: int, count: int) -> int:
    """How many of `count` elements of `size` bytes make one segment of about `segment_bytes`.

    Open MPI's rule: rounded to the nearest number of elements; `count` if the vector is not
    longer than a segment, or an element is.
    """
    if not size <= segment_bytes < size * count:
        return count
    elements, rest = divmod(segment_bytes, size)
    return elements + 1 if rest > size // 2 else elements


def cut(count: int, segment: int) -> list[int]:
    """The sizes of the segments of `count` elements, all of `segment` but for the last."""
    if count == 0:
        return []
    whole, rest = divmod(count, segment)
    return [segment] * whole + ([rest] if rest else [])


def whole_segments(count: int, size: int, segment_bytes: int) -> tuple[int, int]:
    """Elements of a segment of at most `segment_bytes`, at least 1, and how many fit in `count`.

    Elements of no width make one segment.
    """
    segment = max(1, segment_bytes // size) if size else max(1, count)
    return segment, count // segment


def relay(s: Endpoint, source: int | None, targets: Sequence[int], pieces: Sequence[int]) -> None:
    """Pass pieces on with non-blocking sends: each as soon as it is there.

    `source` is where the pieces come from; None when they are here. `targets` is where each piece
    goes. `pieces` is their sizes in bytes.
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
    """Pass pieces on with blocking sends; the parameters are those of `relay`."""
    receives = [] if source is None else [s.irecv(source, nbytes) for nbytes in pieces]
    for i, nbytes in enumerate(pieces):
        if receives:
            s.wait(receives[i])
        for target in targets:
            s.send(target, nbytes)


def to_rank_zero(s: Endpoint, nbytes: int, root: int) -> None:
    """Move the data of a broadcast from the root to rank 0, whose tree is the only one there is."""
    if root != 0 and s.rank == root:
        s.send(0, nbytes)
    elif root != 0 and s.rank == 0:
        s.recv(root, nbytes)


class Pieces:
    """A message that is cut into pieces of equal length, one a rank; the last may be shorter.

    `total` is the size of the message in bytes. `ranks` is the number of pieces. Some at the end
    are empty when the division is not even.
    """

    __slots__ = ("total", "piece")

    def __init__(self, total: int, ranks: int) -> None:
        self.total = total
        self.piece = -(-total // ranks)

    def nbytes(self, first: int, number: int = 1) -> int:
        """The bytes of `number` pieces from the piece `first` on."""
        return max(0, min(number * self.piece, self.total - first * self.piece))


def scatter_pieces(s: Endpoint, pieces: Pieces, root: int) -> None:
    """Scatter along a binomial tree: each rank receives what its subtree needs and hands it down.

    Pieces belong to the ranks counted from the root. The buffer of a receive reaches to the
    message's end, more than what comes. Empty parts are not sent.
    """
    place = (s.rank - root) % s.size
    parent, children = in_order_binomial_tree(place, s.size, 0)
    if parent is not None and pieces.nbytes(place) > 0:
        s.recv((parent + root) % s.size, pieces.nbytes(place, s.size))
    for child in reversed(children):
        if pieces.nbytes(child) > 0:
            s.send((child + root) % s.size, pieces.nbytes(child, child - place))
