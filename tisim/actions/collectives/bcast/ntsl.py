"""Broadcast along a line of ranks that ignores the topology, in segments of 8 KiB."""

from __future__ import annotations

from tisim.actions.collectives.pipeline import forward, relay, to_rank_zero
from tisim.actions.collectives.topology import whole_segments
from tisim.actions.script import Endpoint

_SEGMENT_BYTES = 8192


def ntsl(s: Endpoint, count: int, size: int, root: int) -> None:
    """Send from rank 0 to 1 to 2 and so on, segment by segment.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.
    root
        The rank that has the data.

    Notes
    -----
    "Non-topology-specific linear" of P. Patarasuk, A. Faraj, X. Yuan, "Pipelined broadcast on
    Ethernet switched clusters", IPDPS 2006. What is left after the last whole segment goes to the
    broadcast that the configuration names.
    """
    if s.size == 1:
        return
    to_rank_zero(s, count * size, root)
    before = s.rank - 1 if s.rank else None
    after = [s.rank + 1] if s.rank + 1 < s.size else []
    segment, segments = whole_segments(count, size, _SEGMENT_BYTES)
    if count <= segment:
        forward(s, before, after, [count * size])
        return
    relay(s, before, after, [segment * size] * segments)
    if count % segment:
        s.chosen("bcast")(s, count % segment, size, root)
