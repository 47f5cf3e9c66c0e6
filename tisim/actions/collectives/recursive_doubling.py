"""Recursive doubling among any number of ranks.

In step k a rank has gathered what the ranks of its subtree of 2^k hold, and exchanges it with
the rank whose number differs in bit k. Where the other subtree is cut short by the number of
ranks, those whose partner does not exist get its data from their own subtree's ranks that
have one, along a binomial tree.

References
----------
R. Thakur, R. Rabenseifner, W. Gropp: Optimization of Collective Communication Operations in
MPICH. Int. J. High Performance Computing Applications 19(1), 2005.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Step(NamedTuple):
    """What one rank does in one step.

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


def recursive_doubling_steps(rank: int, size: int) -> Iterator[Step]:
    """The steps of `rank` among `size` ranks."""
    width = 1
    while width < size:
        partner = rank ^ width
        low = rank & -width
        other = low ^ width
        cut_short = other < size < other + width
        yield Step(
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
