"""Recursive doubling and halving, on any number of ranks and on powers of two.

*Recursive doubling*: in step k a rank has the data of all 2^k ranks of its subtree, and exchanges
them with the rank whose number differs in bit k. If the other subtree is incomplete, ranks without
a partner get its data from the ranks of their own subtree that have one, along a binomial tree
[Thakur].

*Recursive halving*: in step k a worker shares its part of the vector with the worker whose number
differs in bit k: each keeps one half and sends the other. The same steps in reverse order collect
the whole vector again [Rabenseifner04].

If the number of ranks is not a power of two, the first ones work in pairs (`Folding`).
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


def require_power_of_two(size: int, user: str) -> None:
    """Raise an `InputError` that names `user` when `size` is not a power of two."""
    if not is_power_of_two(size):
        raise InputError(
            f"{user} needs a number of ranks that is a power of two, not {size}: "
            "choose another algorithm"
        )


def power_of_two_up_to(number: int) -> int:
    """Return the largest power of two not above `number` (at least 1)."""
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
    """Reduction of the ranks to `workers`, numbered from 0; the first `pairs` represent two ranks.

    `workers` is the largest power of two not above the number of ranks. `pairs` is the number of
    remaining ranks. `working`: 1 if the odd rank of a pair works, 0 if the even one does.
    """

    workers: int
    pairs: int
    working: int = 1

    def worker(self, rank: int) -> int | None:
        """Return the worker number of `rank`; None for the idle rank of a pair."""
        if rank >= 2 * self.pairs:
            return rank - self.pairs
        return rank // 2 if rank % 2 == self.working else None

    def rank(self, worker: int) -> int:
        """Return the rank of `worker`."""
        return 2 * worker + self.working if worker < self.pairs else worker + self.pairs

    def offsets(self, rcounts: Sequence[int], size: int) -> list[int]:
        """Byte offsets of the workers' blocks, followed by the end of the last.

        A worker's block contains those of its one or two ranks.
        """
        offsets = list(accumulate((count * size for count in rcounts), initial=0))
        pairs = self.pairs
        return offsets[: 2 * pairs : 2] + offsets[2 * pairs :]

    def fold_in(self, s: Endpoint, nbytes: int, stride: int = 1) -> int | None:
        """Send the idle ranks' vectors to their workers; returns this rank's worker number.

        With a stride, only ranks that are multiples of it take part.
        """
        place = s.rank // stride
        worker = self.worker(place)
        if worker is None:
            s.send((place ^ 1) * stride, nbytes)
        elif worker < self.pairs:
            s.recv((place ^ 1) * stride, nbytes)
            s.combine(nbytes)
        return worker

    def fold_out(self, s: Endpoint, nbytes: int, stride: int = 1) -> None:
        """Send the result from the workers of pairs to the idle ranks."""
        place = s.rank // stride
        if place < 2 * self.pairs:
            (s.send if place % 2 == self.working else s.recv)((place ^ 1) * stride, nbytes)


def fold(ranks: int, working: int = 1) -> Folding:
    """Return the folding of `ranks` ranks; `working` as in `Folding`."""
    workers = power_of_two_up_to(ranks)
    return Folding(workers, ranks - workers, working)


def exchange_all(s: Endpoint, nbytes: int, number: int, stride: int = 1) -> None:
    """Exchange a vector among `number` ranks, multiples of `stride`, at distance 1, 2, 4..."""
    folding = fold(number)
    worker = folding.fold_in(s, nbytes, stride)
    mask = 1
    while worker is not None and mask < folding.workers:
        peer = folding.rank(worker ^ mask) * stride
        s.sendrecv(peer, nbytes, 0, peer, nbytes, 0)
        s.combine(nbytes)
        mask <<= 1
    folding.fold_out(s, nbytes, stride)


class DoublingStep(NamedTuple):
    """One step of recursive doubling, as one rank sees it.

    Attributes
    ----------
    partner
        Rank to exchange with; None if it does not exist.
    width
        Number of ranks of a full subtree.
    mine, theirs
        Ranks of this rank's subtree and of its partner's.
    relays
        Messages after the exchange that forward the data of `theirs`: (whether sent, peer).
    """

    partner: int | None
    width: int
    mine: range
    theirs: range
    relays: list[tuple[bool, int]]


def recursive_doubling_steps(rank: int, size: int) -> Iterator[DoublingStep]:
    """Yield the steps of `rank` among `size` ranks."""
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
    """Relay messages of `rank` when the first `served` ranks of its subtree have the data."""
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
    """Write the steps of recursive doubling, with ranks counted from the root.

    `held`: bytes held by a range of ranks; `room`: bytes of a receive buffer, by default exact.
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
    """One step of a worker: its partner, and the bytes of the halves that it keeps and gives away.

    The partner is also a worker; each keeps one half of their common part.
    """

    partner: int
    kept: int
    given: int


def halving_steps(worker: int, workers: int, end: Callable[[int], int]) -> list[HalvingStep]:
    """Return the steps on a vector of `workers` blocks; the first n end at byte ``end(n)``."""
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


#: Returns a worker's steps, given its number, the workers, the elements and the element size.
StepsOf = Callable[[int, int, int, int], list[HalvingStep]]


def halving_blocks(worker: int, workers: int, count: int, size: int) -> list[HalvingStep]:
    """Steps on `count` elements in equal blocks; the last one also has the remainder."""
    block = count // workers
    return halving_steps(worker, workers, lambda n: (n * block if n < workers else count) * size)


def halving_even_blocks(worker: int, workers: int, count: int, size: int) -> list[HalvingStep]:
    """Steps on `count` elements in blocks that differ by at most one, longer ones first."""
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
    """Write the steps: send one half to the partner, and reduce the other with the partner's."""
    for partner, kept, given in steps:
        peer = folding.rank(partner)
        s.sendrecv(peer, given, 0, peer, kept, 0)
        s.combine(kept)


def double(s: Endpoint, folding: Folding, steps: list[HalvingStep]) -> None:
    """Write the steps in reverse: every worker gets the whole vector."""
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
    keeps_collecting: bool = False,
) -> None:
    """Write the steps in reverse along a binomial tree: only the root gets the whole vector.

    An idle root first takes the place of worker 0 (rank 0, the even rank of a pair). `steps`
    returns the steps of a worker. `keeps_collecting`: a worker continues to collect after it has
    sent its part, as if the root were another rank.
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
        if not keeps_collecting:
            return


def reduce_scatter_halves(s: Endpoint, folding: Folding, count: int, size: int) -> int | None:
    """Reduce each pair of ranks to its even one, then halve the vector recursively.

    The ranks of a pair swap halves, and the odd one sends back the half that it has reduced.
    Returns this rank's worker number.
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
