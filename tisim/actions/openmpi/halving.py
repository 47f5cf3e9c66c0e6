"""Rabenseifner's reductions: a reduce-scatter by halving, then a gather or an allgather.

`ompi_coll_base_allreduce_intra_redscat_allgather` (`coll_base_allreduce.c`) and
`ompi_coll_base_reduce_intra_redscat_gather` (`coll_base_reduce.c`). R. Thakur, R. Rabenseifner,
W. Gropp: Optimization of collective communication operations in MPICH. IJHPCA 19 (2005).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tisim.actions.collectives.topology import power_of_two_up_to
from tisim.actions.script import Endpoint


@dataclass(slots=True)
class Halving:
    """What a rank sends and keeps in each round, in elements.

    Attributes
    ----------
    place
        The rank among those that halve; None: a neighbour does it instead.
    number
        How many ranks halve: a power of two.
    extra
        How many neighbours are left out.
    sent, kept
        The elements of each round.
    """

    place: int | None
    number: int
    extra: int
    sent: list[int] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)

    def rank(self, place: int) -> int:
        """The rank at a place."""
        return 2 * place if place < self.extra else place + self.extra


def reduce_scatter(s: Endpoint, count: int, size: int) -> Halving:
    """Join neighbours until a power of two of ranks is left, then halve the vector in rounds."""
    number = power_of_two_up_to(s.size)
    extra = s.size - number
    left = count // 2
    right = count - left
    if s.rank >= 2 * extra:
        halving = Halving(s.rank - extra, number, extra)
    elif s.rank % 2:
        s.sendrecv(s.rank - 1, left * size, 0, s.rank - 1, right * size, 0)
        s.send(s.rank - 1, right * size)
        return Halving(None, number, extra)
    else:
        s.sendrecv(s.rank + 1, right * size, 0, s.rank + 1, left * size, 0)
        s.recv(s.rank + 1, right * size)
        halving = Halving(s.rank // 2, number, extra)
    assert halving.place is not None
    window = count
    mask = 1
    while mask < number:
        peer = halving.rank(halving.place ^ mask)
        lower = window // 2
        kept = lower if s.rank < peer else window - lower
        s.sendrecv(peer, (window - kept) * size, 0, peer, kept * size, 0)
        halving.sent.append(window - kept)
        halving.kept.append(kept)
        window = kept
        mask <<= 1
    return halving


def allgather(s: Endpoint, halving: Halving, count: int, size: int) -> None:
    """Undo the rounds, then tell the neighbours that were left out."""
    if halving.place is not None:
        mask = halving.number >> 1
        for sent, kept in zip(reversed(halving.sent), reversed(halving.kept), strict=True):
            peer = halving.rank(halving.place ^ mask)
            s.sendrecv(peer, kept * size, 0, peer, sent * size, 0)
            mask >>= 1
    if s.rank < 2 * halving.extra:
        if s.rank % 2:
            s.recv(s.rank - 1, count * size)
        else:
            s.send(s.rank + 1, count * size)


def gather(s: Endpoint, halving: Halving, count: int, size: int, root: int) -> None:
    """Collect the parts at the root along a binomial tree."""
    place, extra = halving.place, halving.extra
    left_out = root < 2 * extra and root % 2 == 1
    rounds = halving.number.bit_length() - 1
    if left_out and s.rank == root:
        # It takes the place of rank 0, whose part it gets first.
        window = count
        for _ in range(rounds):
            halving.kept.append(window // 2)
            halving.sent.append(window - window // 2)
            window //= 2
        s.recv(0, halving.kept[-1] * size)
        place = 0
    elif left_out and place == 0:
        s.send(root, halving.kept[-1] * size)
        place = None
    top = 0 if left_out else root // 2 if root < 2 * extra else root - extra
    if place is None:
        return
    for step in reversed(range(rounds)):
        other = place ^ (1 << step)
        peer = root if left_out and other == 0 else halving.rank(other)
        if other >> step == top >> step:
            s.send(peer, halving.kept[step] * size)
            return
        s.recv(peer, halving.sent[step] * size)
