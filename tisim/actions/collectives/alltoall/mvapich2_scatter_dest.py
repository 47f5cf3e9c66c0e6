"""Alltoall: messages to four ranks at a time, the own rank included."""

from __future__ import annotations

from tisim.actions.script import Endpoint

_RANKS_AT_A_TIME = 4


def mvapich2_scatter_dest(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Receive from four ranks ahead while sending to four behind; the own block is a message too.

    References
    ----------
    MVAPICH2 and MPICH: throttled linear ("scattered destination") alltoall.
    """
    if rcount == 0:
        return
    rank, size = s.rank, s.size
    sent, received = scount * ssize, rcount * rsize
    for start in range(0, size, _RANKS_AT_A_TIME):
        distances = range(start, min(start + _RANKS_AT_A_TIME, size))
        requests = [s.irecv((rank + distance) % size, received) for distance in distances]
        requests += [s.isend((rank - distance) % size, sent) for distance in distances]
        s.waitall(requests)
