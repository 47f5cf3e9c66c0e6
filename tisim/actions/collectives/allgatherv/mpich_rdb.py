"""Allgatherv: recursive doubling."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from tisim.actions.collectives.recursive_doubling import recursive_doubling_steps
from tisim.actions.script import Endpoint


def mpich_rdb(s: Endpoint, scount: int, ssize: int, rcounts: Sequence[int], rsize: int) -> None:
    """Exchange all blocks held with the rank whose number differs in bit 0, 1, 2...

    A receive has room for everything up to the last block. Nothing happens when there is nothing
    to gather.

    References
    ----------
    R. Thakur, R. Rabenseifner, W. Gropp: Optimization of Collective Communication Operations in
    MPICH. Int. J. High Performance Computing Applications 19(1), 2005.
    """
    offsets = list(accumulate((count * rsize for count in rcounts), initial=0))
    total = offsets[-1]
    if not any(rcounts):
        return
    for step in recursive_doubling_steps(s.rank, s.size):
        mine = offsets[step.mine.stop] - offsets[step.mine.start]
        room = total - offsets[min(step.theirs.start, s.size)]
        if step.partner is not None:
            s.sendrecv(step.partner, mine, 0, step.partner, room, 0)
        for is_sent, peer in step.relays:
            if is_sent:
                s.send(peer, offsets[step.theirs.stop] - offsets[step.theirs.start])
            else:
                s.recv(peer, room)
