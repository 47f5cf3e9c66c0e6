"""Recursive halving and doubling: how ranks split a vector to reduce it and collect it again.

In step k a worker shares its part of the vector with the worker whose number differs in bit k:
each keeps one half and gives the other away. Undone in the opposite order, the steps collect the
whole vector again.

References
----------
R. Rabenseifner: Optimization of collective reduction operations. ICCS 2004.
"""

from __future__ import annotations

from typing import NamedTuple


class Step(NamedTuple):
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


def halving_blocks(worker: int, workers: int, count: int, size: int) -> list[Step]:
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
            steps.append(Step(worker ^ mask, upper, lower))
        else:
            steps.append(Step(worker ^ mask, lower, upper))
        mask <<= 1
    return steps


def halving_elements(worker: int, workers: int, count: int, size: int) -> list[Step]:
    """Steps that halve the number of elements, the lower half being the smaller one.

    The parameters are those of `halving_blocks`.
    """
    steps = []
    mask = 1
    while mask < workers:
        lower = count // 2
        upper = count - lower
        if worker & mask:
            steps.append(Step(worker ^ mask, upper * size, lower * size))
            count = upper
        else:
            steps.append(Step(worker ^ mask, lower * size, upper * size))
            count = lower
        mask <<= 1
    return steps
