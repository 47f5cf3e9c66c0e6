"""Alltoall: recursive doubling, everything goes everywhere."""

from __future__ import annotations

from tisim.actions.collectives.recursive_doubling import recursive_doubling_steps
from tisim.actions.script import Endpoint


def rdb(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Exchange all blocks held, for whomever, with the rank that differs in bit 0, 1, 2...

    An allgather of what all ranks have to send; a rank picks its blocks at the end.

    References
    ----------
    R. Thakur, R. Rabenseifner, W. Gropp: Optimization of Collective Communication Operations in
    MPICH. Int. J. High Performance Computing Applications 19(1), 2005; used so by A. Faraj.

    Notes
    -----
    When the types of the two sides differ in width SimGrid takes the elements of one for those of
    the other, and sends too few or fatally many; here all blocks travel.
    """
    share = rcount * rsize * s.size
    for step in recursive_doubling_steps(s.rank, s.size):
        room = step.width * share
        if step.partner is not None:
            s.sendrecv(step.partner, len(step.mine) * share, 0, step.partner, room, 0)
        for is_sent, peer in step.relays:
            if is_sent:
                s.send(peer, len(step.theirs) * share)
            else:
                s.recv(peer, room)
