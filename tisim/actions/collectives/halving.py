"""Recursive doubling and halving, on any number of ranks and on powers of two.

*Recursive doubling*: in step k a rank has gathered what the ranks of its subtree of 2^k hold, and
exchanges it with the rank whose number differs in bit k. Where the other subtree is cut short by
the number of ranks, those whose partner does not exist get its data from their own subtree's ranks
that have one, along a binomial tree [Thakur].

*Recursive halving*: in step k a worker shares its part of the vector with the worker whose number
differs in bit k: each keeps one half and gives the other away. Undone in the opposite order, the
steps collect the whole vector again [Rabenseifner04].

Where the ranks are not a power of two, the first ones work in pairs (`Folding`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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

    `workers` is the largest power of two that is not above the number of ranks. `pairs` is the
    number of ranks that are left over. `working`: 1 if the odd rank of a pair works, 0 if the even
    one does.
    """

    workers: int
    pairs: int
    working: int = 1

    def worker(self, rank: int) -> int | None:
        """The number of `rank` as a worker; None for the idle rank of a pair."""
        if rank >= 2 * self.pairs:
            return rank - self.pairs
        return rank // 2 if rank % 2 == self.working else None

    def rank(self, worker: int) -> int:
        """The rank that is `worker`."""
        return 2 * worker + self.working if worker < self.pairs else worker + self.pairs

    def offsets(self, rcounts: Sequence[int], size: int) -> list[int]:
        """Where the blocks of the workers begin in bytes, and after them the end of the last.

        The block of a worker holds those of its one or two ranks.
        """
        offsets = list(accumulate((count * size for count in rcounts), initial=0))
        pairs = self.pairs
        return offsets[: 2 * pairs : 2] + offsets[2 * pairs :]

    def hand_over(self, s: Endpoint, nbytes: int, stride: int = 1) -> int | None:
        """The idle ranks send their vectors to the workers of their pairs; this rank's `worker`.

        With a stride, only ranks that are multiples of it count.
        """
        place = s.rank // stride
        worker = self.worker(place)
        if worker is None:
            s.send((place ^ 1) * stride, nbytes)
        elif worker < self.pairs:
            s.recv((place ^ 1) * stride, nbytes)
            s.combine(nbytes)
        return worker

    def hand_back(self, s: Endpoint, nbytes: int, stride: int = 1) -> None:
        """The workers of pairs send the result to the idle ranks."""
        place = s.rank // stride
        if place < 2 * self.pairs:
            (s.send if place % 2 == self.working else s.recv)((place ^ 1) * stride, nbytes)


def fold(ranks: int, working: int = 1) -> Folding:
    """The folding of `ranks` ranks; `working` is that of `Folding`."""
    workers = power_of_two_up_to(ranks)
    return Folding(workers, ranks - workers, working)


def exchange_all(s: Endpoint, nbytes: int, number: int, stride: int = 1) -> None:
    """Exchange a vector among `number` ranks, multiples of `stride`, at distance 1, 2, 4..."""
    folding = fold(number)
    worker = folding.hand_over(s, nbytes, stride)
    mask = 1
    while worker is not None and mask < folding.workers:
        peer = folding.rank(worker ^ mask) * stride
        s.sendrecv(peer, nbytes, 0, peer, nbytes, 0)
        s.combine(nbytes)
        mask <<= 1
    folding.hand_back(s, nbytes, stride)


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


def exchange_doubling(
    s: Endpoint,
    held: Callable[[range], int],
    room: Callable[[DoublingStep], int] | None = None,
    root: int = 0,
) -> None:
    """Make the steps of recursive doubling, the ranks being counted from the root.

    `held`: bytes of what some ranks hold; `room`: bytes of a receive, by default those that come.
    """
    for step in recursive_doubling_steps((s.rank - root) % s.size, s.size):
        if step.partner is None and not step.relays:
            continue
        theirs = held(step.theirs)
        space = theirs if room is None else room(step)
        if step.partner is not None:
            peer = (step.partner + root) % s.size
            s.sendrecv(peer, held(step.mine), 0, peer, space, 0)
        for is_sent, partner in step.relays:
            peer = (partner + root) % s.size
            if is_sent:
                s.send(peer, theirs)
            else:
                s.recv(peer, space)


class HalvingStep(NamedTuple):
    """One step of one worker: its partner, and the bytes of the half that it keeps and gives away.

    Partners are workers; each keeps one half of the part that both have and gives the other away.
    """

    partner: int
    kept: int
    given: int


def halving_steps(worker: int, workers: int, end: Callable[[int], int]) -> list[HalvingStep]:
    """Steps on a vector of `workers` blocks, of which the first n end at byte ``end(n)``."""
    first, length, mask = 0, workers, 1
    steps = []
    while mask < workers:
        length //= 2
        middle = first + length
        lower, upper = end(middle) - end(first), end(middle + length) - end(middle)
        if worker & mask:
            first = middle
            lower, upper = upper, lower
        steps.append(HalvingStep(worker ^ mask, lower, upper))
        mask <<= 1
    return steps


#: Returns a worker's steps, given its number, the workers, the elements and the size of one.
StepsOf = Callable[[int, int, int, int], list[HalvingStep]]


def halving_blocks(worker: int, workers: int, count: int, size: int) -> list[HalvingStep]:
    """Steps on `count` elements in equal blocks, the last of which has what is left over."""
    block = count // workers
    return halving_steps(worker, workers, lambda n: (n * block if n < workers else count) * size)


def halving_even_blocks(worker: int, workers: int, count: int, size: int) -> list[HalvingStep]:
    """Steps on `count` elements in blocks that differ by one at most, the longer ones first."""
    block, longer = divmod(count, workers)
    return halving_steps(worker, workers, lambda n: (n * block + min(n, longer)) * size)


def halving_elements(worker: int, workers: int, count: int, size: int) -> list[HalvingStep]:
    """Steps that halve the number of elements, the lower half being the smaller one."""
    steps = []
    mask = 1
    while mask < workers:
        given = count // 2 if worker & mask else count - count // 2
        count -= given
        steps.append(HalvingStep(worker ^ mask, count * size, given * size))
        mask <<= 1
    return steps


def halve(s: Endpoint, folding: Folding, steps: list[HalvingStep]) -> None:
    """Make the steps: give one half to the partner, and reduce the other with the partner's."""
    for partner, kept, given in steps:
        peer = folding.rank(partner)
        s.sendrecv(peer, given, 0, peer, kept, 0)
        s.combine(kept)


def double(s: Endpoint, folding: Folding, steps: list[HalvingStep]) -> None:
    """Undo the steps: every worker gets the whole vector."""
    for partner, kept, given in reversed(steps):
        peer = folding.rank(partner)
        s.sendrecv(peer, kept, 0, peer, given, 0)


def collect(
    s: Endpoint,
    folding: Folding,
    worker: int | None,
    root: int,
    steps: Callable[[int], list[HalvingStep]],
    *,
    goes_on: bool = False,
) -> None:
    """Undo the steps along a binomial tree, for the root alone.

    A root that does not work first takes the place of the worker 0 (rank 0, the even rank of a
    pair). `steps` gives those of a worker; `goes_on`: one that has sent its part away goes on
    collecting, as if the root were another.
    """
    head = folding.worker(root)
    stands_in = head is None
    if stands_in:
        if s.rank == root:
            worker = 0
            s.recv(0, steps(0)[-1].kept)
        elif worker == 0:
            s.send(root, steps(0)[-1].kept)
            return
    if worker is None:
        return
    for bit, (partner, kept, given) in reversed(list(enumerate(steps(worker)))):
        peer = root if stands_in and partner == 0 else folding.rank(partner)
        if (worker ^ (head or 0)) >> bit & 1 == 0:
            s.recv(peer, given)
            continue
        s.send(peer, kept)
        if not goes_on:
            return


def reduce_scatter_halves(s: Endpoint, folding: Folding, count: int, size: int) -> int | None:
    """Reduce pairs of ranks to their even ones, then halve the vector recursively.

    The ranks of a pair swap halves, and the odd one returns the half that it has reduced. Returns
    this rank's number as a worker.
    """
    lower, upper = count // 2 * size, (count - count // 2) * size
    worker = folding.worker(s.rank)
    if worker is None:
        s.sendrecv(s.rank - 1, lower, 0, s.rank - 1, upper, 0)
        s.combine(upper)
        s.send(s.rank - 1, upper)
        return None
    if worker < folding.pairs:
        s.sendrecv(s.rank + 1, upper, 0, s.rank + 1, lower, 0)
        s.combine(lower)
        s.recv(s.rank + 1, upper)
    halve(s, folding, halving_elements(worker, folding.workers, count, size))
    return worker
