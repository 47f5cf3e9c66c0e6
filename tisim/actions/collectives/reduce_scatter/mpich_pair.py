"""Reduce-scatter: P - 1 exchanges of single blocks."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.script import Endpoint


def mpich_pair(s: Endpoint, rcounts: Sequence[int], size: int) -> None:
    """In step i send the block of the rank i ahead to it, receive the own from the rank i behind.

    Nothing happens when there is nothing to reduce.

    References
    ----------
    R. Thakur, R. Rabenseifner, W. Gropp: Optimization of Collective Communication Operations in
    MPICH. Int. J. High Performance Computing Applications 19(1), 2005 (pairwise exchange).
    """
    if not any(rcounts):
        return
    rank, ranks, sendrecv = s.rank, s.size, s.sendrecv
    mine = rcounts[rank] * size
    for step in range(1, ranks):
        ahead = (rank + step) % ranks
        sendrecv(ahead, rcounts[ahead] * size, 0, (rank - step) % ranks, mine, 0)
