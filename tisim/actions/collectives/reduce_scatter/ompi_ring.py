"""Reduce-scatter: partial results travel around a ring."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.script import Endpoint


def ompi_ring(s: Endpoint, rcounts: Sequence[int], size: int) -> None:
    """P - 1 times add the own share to the block that comes and send it to the next rank.

    The next receive is posted before the last one is waited for. Receives have room for the
    largest block.

    References
    ----------
    Open MPI, ``coll/tuned``: ring reduce-scatter.
    """
    rank, ranks = s.rank, s.size
    if ranks == 1:
        return
    ahead, behind = (rank + 1) % ranks, (rank - 1) % ranks
    room = max(rcounts) * size
    arriving = s.irecv(behind, room)
    s.send(ahead, rcounts[behind] * size)
    for step in range(2, ranks):
        request = s.irecv(behind, room)
        s.wait(arriving)
        arriving = request
        s.send(ahead, rcounts[(rank - step) % ranks] * size)
    s.wait(arriving)
