"""Recursive doubling and halving, on any number of ranks and on powers of two.

*Recursive doubling*: in step k a rank has gathered what the ranks of its subtree of 2^k hold, and
exchanges it with the rank whose number differs in bit k. Where the other subtree is cut short by
the number of ranks, those whose partner does not exist get its data from their own subtree's ranks
that have one, along a binomial tree [Thakur].

*Recursive halving*: in step k a worker shares its part of the vector with the worker whose number
differs in bit k: each keeps one half and gives the other away. Undone in the opposite order, the
steps collect the whole vector again [Rabenseifner04].

Where the ranks are not a power of two, the first ones work in pairs (`Folding`, `Workers`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from tisim.actions.script import Endpoint
from tisim.errors import InputError


def is_power_of_two(size: int) -> bool:
    """True for 1, 2, 4, 8..."""
    return size & (size - 1) == 0


def demand_power_of_two(size: int, user: str) -> None:
    """Raise an `InputError` that names `user` when `size` is not a power of two."""
    if not is_power_of_two(size):
        raise InputError(
            f"{user} needs a number of ranks that is a power of two, not {size}: "
            "choose another algorithm"
        )


def power_of_two_up_to(number: int) -> int:
    """The largest power of two that is not above `number` (at least 1)."""
    return 1 << (number.bit_length() - 1)


def reversed_bits(number: int, size: int) -> int:
    """`number` with its ``log2(size)`` binary digits in reverse order (`size` a power of two)."""
    mirrored = 0
    while size > 1:
        mirrored = mirrored << 1 | number & 1
        number >>= 1
        size >>= 1
    return mirrored


class Folding(NamedTuple):
    """`workers` of the ranks work, numbered from 0; the first `pairs` of them for two ranks.

    Attributes
    ----------
    workers
        The largest power of two that is not above the number of ranks.
    pairs
        The number of ranks that are left over.
    """

    workers: int
    pairs: int

    def worker(self, rank: int) -> int | None:
        """The number of `rank` as a worker; None for the even rank of a pair."""
        if rank >= 2 * self.pairs:
            return rank - self.pairs
        return rank // 2 if rank % 2 else None

    def rank(self, worker: int) -> int:
        """The rank that is `worker`."""
        return 2 * worker + 1 if worker < self.pairs else worker + self.pairs

    def offsets(self, rcounts: Sequence[int], size: int) -> list[int]:
        """Where the blocks of the workers begin in bytes, and after them the end of the last.

        The block of a worker holds those of its one or two ranks.
        """
        offsets = list(accumulate((count * size for count in rcounts), initial=0))
        pairs = self.pairs
        return offsets[: 2 * pairs : 2] + offsets[2 * pairs :]


def fold(ranks: int) -> Folding:
    """The folding of `ranks` ranks."""
    workers = power_of_two_up_to(ranks)
    return Folding(workers, ranks - workers)


def exchange_all(s: Endpoint, nbytes: int, place: int, number: int, stride: int = 1) -> None:
    """Exchange a vector with places at distance 1, 2, 4...

    Beyond a power of two, the even place of each of the first pairs hands its vector to the odd
    one and gets the result back from it.

    Parameters
    ----------
    s
        This rank.
    nbytes
        The size of the vector.
    place, number
        This rank's place among those that take part, and how many they are.
    stride
        The rank at place p is ``stride * p``.
    """
    folding = fold(number)
    worker = folding.worker(place)
    if worker is None:
        s.send((place + 1) * stride, nbytes)
        s.recv((place + 1) * stride, nbytes)
        return
    if worker < folding.pairs:
        s.recv((place - 1) * stride, nbytes)
    mask = 1
    while mask < folding.workers:
        peer = folding.rank(worker ^ mask) * stride
        s.sendrecv(peer, nbytes, 0, peer, nbytes, 0)
        mask <<= 1
    if worker < folding.pairs:
        s.send((place - 1) * stride, nbytes)


class DoublingStep(NamedTuple):
    """One step of recursive doubling, as one rank sees it.

    Attributes
    ----------
    partner
        The rank to exchange with; None when there are too few ranks.
    width
        The number of ranks of a full subtree.
    mine, theirs
        The ranks of the own and of the other subtree.
    relays
        Messages afterwards that carry the data of `theirs`: (whether it is sent, peer).
    """

    partner: int | None
    width: int
    mine: range
    theirs: range
    relays: list[tuple[bool, int]]


def recursive_doubling_steps(rank: int, size: int) -> Iterator[DoublingStep]:
    """The steps of `rank` among `size` ranks."""
    width = 1
    while width < size:
        partner = rank ^ width
        low = rank & -width
        other = low ^ width
        cut_short = other < size < other + width
        yield DoublingStep(
            partner if partner < size else None,
            width,
            range(low, min(low + width, size)),
            range(other, min(other + width, size)),
            _relays(rank, width, size - other) if cut_short else [],
        )
        width <<= 1


def _relays(rank: int, width: int, served: int) -> list[tuple[bool, int]]:
    """The relay messages of `rank` when the first `served` ranks of its subtree have the data."""
    found = []
    while width > 1:
        limit = (rank & -width) + served
        width >>= 1
        peer = rank ^ width
        if rank < limit <= peer:
            found.append((True, peer))
        elif peer < limit <= rank:
            found.append((False, peer))
    return found


class HalvingStep(NamedTuple):
    """One step of one worker.

    Attributes
    ----------
    partner
        The worker to exchange with.
    kept, given
        The bytes of the half that this worker keeps, and of the half that it gives to its partner.
    """

    partner: int
    kept: int
    given: int


def halving_blocks(worker: int, workers: int, count: int, size: int) -> list[HalvingStep]:
    """Steps on a vector of `workers` equal blocks, the last of which has what is left over.

    Parameters
    ----------
    worker, workers
        This worker and how many there are, a power of two.
    count, size
        Number of elements of the vector and the width of one in bytes.
    """
    block = count // workers * size
    rest = count * size - workers * block
    first, length = 0, workers
    steps = []
    mask = 1
    while mask < workers:
        length //= 2
        # Only the upper half of a part that reaches the vector's end holds the last block.
        lower = length * block
        upper = lower + (rest if first + 2 * length == workers else 0)
        if worker & mask:
            first += length
            steps.append(HalvingStep(worker ^ mask, upper, lower))
        else:
            steps.append(HalvingStep(worker ^ mask, lower, upper))
        mask <<= 1
    return steps


def halving_elements(worker: int, workers: int, count: int, size: int) -> list[HalvingStep]:
    """Steps that halve the number of elements, the lower half being the smaller one.

    The parameters are those of `halving_blocks`.
    """
    steps = []
    mask = 1
    while mask < workers:
        lower = count // 2
        upper = count - lower
        if worker & mask:
            steps.append(HalvingStep(worker ^ mask, upper * size, lower * size))
            count = upper
        else:
            steps.append(HalvingStep(worker ^ mask, lower * size, upper * size))
            count = lower
        mask <<= 1
    return steps


class Workers:
    """The ranks that do the work: the even ones of the first pairs, and all after the pairs.

    Parameters
    ----------
    ranks
        The number of ranks.

    Attributes
    ----------
    number
        How many they are, the largest power of two up to `ranks`.
    pairs
        How many ranks are left over.
    """

    __slots__ = ("number", "pairs")

    def __init__(self, ranks: int) -> None:
        self.number = power_of_two_up_to(ranks)
        self.pairs = ranks - self.number

    def worker(self, rank: int) -> int | None:
        """The number of `rank` among the workers; None for the odd rank of a pair."""
        if rank >= 2 * self.pairs:
            return rank - self.pairs
        return None if rank % 2 else rank // 2

    def rank(self, worker: int) -> int:
        """The rank that is `worker`."""
        return 2 * worker if worker < self.pairs else worker + self.pairs


def reduce_scatter_halves(
    s: Endpoint, workers: Workers, count: int, size: int
) -> list[HalvingStep]:
    """Reduce pairs of ranks to one, then halve the vector recursively; returns the steps made.

    The ranks of a pair swap halves, and the odd one returns the half that it has reduced. Returns
    nothing on the odd ranks of pairs.
    """
    lower, upper = count // 2 * size, (count - count // 2) * size
    worker = workers.worker(s.rank)
    if worker is None:
        s.sendrecv(s.rank - 1, lower, 0, s.rank - 1, upper, 0)
        s.send(s.rank - 1, upper)
        return []
    if worker < workers.pairs:
        s.sendrecv(s.rank + 1, upper, 0, s.rank + 1, lower, 0)
        s.recv(s.rank + 1, upper)
    steps = halving_elements(worker, workers.number, count, size)
    for partner, kept, given in steps:
        peer = workers.rank(partner)
        s.sendrecv(peer, given, 0, peer, kept, 0)
    return steps
