"""Reduction along a line of ranks that ignores the topology, in segments of 8 KiB."""

from __future__ import annotations

from tisim.actions.collectives.catalogue import algorithm
from tisim.actions.collectives.pipeline import forward, relay
from tisim.actions.collectives.topology import whole_segments
from tisim.actions.script import Endpoint

_SEGMENT_BYTES = 8192


def ntsl(s: Endpoint, count: int, size: int, root: int) -> None:
    """Send from the rank before the root downwards, all around to the root.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.
    root
        The rank that gets the result.

    Notes
    -----
    From STAR-MPI: the reverse of the broadcast of P. Patarasuk, A. Faraj, X. Yuan, "Pipelined
    broadcast on Ethernet switched clusters", IPDPS 2006. What is left after the last whole
    segment goes to the `default` reduction.
    """
    if s.size == 1:
        return
    source = (s.rank + 1) % s.size if (s.rank + 1) % s.size != root else None
    targets = [(s.rank - 1) % s.size] if s.rank != root else []
    segment, segments = whole_segments(count, size, _SEGMENT_BYTES)
    if count <= segment:
        forward(s, source, targets, [count * size])
        return
    if targets:
        relay(s, source, targets, [segment * size] * segments)
    else:
        forward(s, source, targets, [segment * size] * segments)
    if count % segment:
        algorithm("reduce", "default")(s, count % segment, size, root)
