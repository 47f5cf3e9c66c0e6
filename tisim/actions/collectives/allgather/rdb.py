"""Allgather: recursive doubling."""

from __future__ import annotations

from tisim.actions.collectives.recursive_doubling import recursive_doubling_steps
from tisim.actions.script import Endpoint


def rdb(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Exchange all blocks held with the rank whose number differs in bit 0, 1, 2...

    References
    ----------
    R. Thakur, R. Rabenseifner, W. Gropp: Optimization of Collective Communication Operations in
    MPICH. Int. J. High Performance Computing Applications 19(1), 2005.

    Notes
    -----
    When the types of the two sides differ in width SimGrid takes the elements of one for those of
    the other, and sends too few or fatally many; here all blocks travel.
    """
    block = rcount * rsize
    for step in recursive_doubling_steps(s.rank, s.size):
        if step.partner is not None:
            s.sendrecv(step.partner, len(step.mine) * block, 0, step.partner, step.width * block, 0)
        for is_sent, peer in step.relays:
            (s.send if is_sent else s.recv)(peer, len(step.theirs) * block)
