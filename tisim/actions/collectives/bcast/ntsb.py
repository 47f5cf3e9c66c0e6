"""Broadcast along a binary tree that ignores the topology, in segments of 8 KiB."""

from __future__ import annotations

from tisim.actions.collectives.pipeline import forward, relay, to_rank_zero
from tisim.actions.collectives.topology import whole_segments
from tisim.actions.script import Endpoint

_SEGMENT_BYTES = 8192


def ntsb(s: Endpoint, count: int, size: int, root: int) -> None:
    """Send through a binary heap of ranks below rank 0, segment by segment.

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
    "Non-topology-specific binary" of P. Patarasuk, A. Faraj, X. Yuan, "Pipelined broadcast on
    Ethernet switched clusters", IPDPS 2006. What is left after the last whole segment goes to the
    broadcast that the configuration names.
    """
    if s.size == 1:
        return
    to_rank_zero(s, count * size, root)
    parent = (s.rank - 1) // 2 if s.rank else None
    children = [child for child in (2 * s.rank + 1, 2 * s.rank + 2) if child < s.size]
    segment, segments = whole_segments(count, size, _SEGMENT_BYTES)
    if count <= segment:
        forward(s, parent, children, [count * size])
        return
    relay(s, parent, children, [segment * size] * segments)
    if count % segment:
        s.chosen("bcast")(s, count % segment, size, root)
