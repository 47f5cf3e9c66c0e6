"""Broadcast without a tree, in segments of 8 KiB."""

from __future__ import annotations

from tisim.actions.collectives.bcast.flattree import flattree
from tisim.actions.collectives.topology import whole_segments
from tisim.actions.script import Endpoint

_SEGMENT_BYTES = 8192


def flattree_pipeline(s: Endpoint, count: int, size: int, root: int) -> None:
    """The root sends all segments to one rank after the other.

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
    From STAR-MPI (A. Faraj, X. Yuan, D. Lowenthal, ICS 2006), by way of SimGrid. As there, what
    is left of the vector after the last whole segment is not sent.
    """
    segment, segments = whole_segments(count, size, _SEGMENT_BYTES)
    if segments == 0:
        flattree(s, count, size, root)
        return
    nbytes = segment * size
    if s.rank != root:
        s.waitall([s.irecv(root, nbytes) for _ in range(segments)])
        return
    for other in range(s.size):
        if other != root:
            for _ in range(segments):
                s.send(other, nbytes)
