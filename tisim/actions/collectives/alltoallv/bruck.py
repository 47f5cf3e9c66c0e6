"""Alltoallv: messages to four ranks at a time."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.script import Endpoint

_RANKS_AT_A_TIME = 4


def bruck(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """Receive from the next four ranks ahead while sending to the next four behind.

    References
    ----------
    MPICH: throttled linear alltoallv (the name is SimGrid's; no data are forwarded, as they are
    in the algorithm of Bruck et al.).
    """
    rank, size = s.rank, s.size
    for start in range(0, size, _RANKS_AT_A_TIME):
        distances = range(max(start, 1), min(start + _RANKS_AT_A_TIME, size))
        requests = []
        for distance in distances:
            source = (rank + distance) % size
            requests.append(s.irecv(source, rcounts[source] * rsize))
        for distance in distances:
            peer = (rank - distance) % size
            requests.append(s.isend(peer, scounts[peer] * ssize))
        s.waitall(requests)
