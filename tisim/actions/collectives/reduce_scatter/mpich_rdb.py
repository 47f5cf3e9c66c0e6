"""Reduce-scatter: recursive doubling."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from tisim.actions.collectives.recursive_doubling import recursive_doubling_steps
from tisim.actions.script import Endpoint


def mpich_rdb(s: Endpoint, rcounts: Sequence[int], size: int) -> None:
    """In step k send all but what the 2^k ranks around this one have combined for themselves.

    References
    ----------
    R. Thakur, R. Rabenseifner, W. Gropp: Optimization of Collective Communication Operations in
    MPICH. Int. J. High Performance Computing Applications 19(1), 2005.
    """
    offsets = list(accumulate((count * size for count in rcounts), initial=0))
    total = offsets[-1]
    for step in recursive_doubling_steps(s.rank, s.size):
        if step.partner is not None:
            sent = total - offsets[step.mine.stop] + offsets[step.mine.start]
            received = total - offsets[step.theirs.stop] + offsets[step.theirs.start]
            s.sendrecv(step.partner, sent, 0, step.partner, received, 0)
        for is_sent, peer in step.relays:
            relayed = total - offsets[step.theirs.stop] + offsets[step.theirs.start]
            (s.send if is_sent else s.recv)(peer, relayed)
