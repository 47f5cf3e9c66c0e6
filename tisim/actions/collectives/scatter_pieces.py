"""The first half of the broadcasts of long messages: every rank gets one piece."""

from __future__ import annotations

from tisim.actions.script import Endpoint


class Pieces:
    """A message that is cut into pieces of equal length, one a rank; the last may be shorter.

    Parameters
    ----------
    total
        The size of the message in bytes.
    ranks
        The number of pieces. Some at the end are empty when the division is not even.
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
    mask = 1
    while mask < s.size:
        if place & mask:
            if pieces.nbytes(place) > 0:
                s.recv((s.rank - mask) % s.size, pieces.nbytes(place, s.size))
            break
        mask <<= 1
    mask >>= 1
    while mask:
        below = place + mask
        if below < s.size and pieces.nbytes(below) > 0:
            s.send((s.rank + mask) % s.size, pieces.nbytes(below, mask))
        mask >>= 1
