"""Broadcast along a chain of ranks, in segments whose length depends on the message's."""

from __future__ import annotations

from tisim.actions.collectives.topology import Place, chains, cut, segment_elements
from tisim.actions.script import Endpoint

# Segment bytes, taken if the ranks are fewer than slope * message bytes + offset.
_SEGMENTS = (
    (128 << 10, 1.6134e-6, 2.1102),
    (64 << 10, 2.3679e-6, 1.1787),
    (16 << 10, 3.2118e-6, 8.7936),
)
_OTHERWISE = 128 << 10


def ompi_pipeline(s: Endpoint, count: int, size: int, root: int) -> None:
    """Send from the root to the next rank and so on; each rank has two receives posted.

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
    The pipeline of Open MPI's `coll/tuned`: J. Pjesivac-Grbovic et al., "Performance analysis of
    MPI collective operations", Cluster Computing 10 (2007).
    """
    if s.size == 1:
        return
    segment = segment_elements(_segment_bytes(s.size, count * size), size, count)
    pieces = [elements * size for elements in cut(count, segment)]
    _pass_on(s, chains(s.rank, s.size, root, 1), pieces)


def _segment_bytes(ranks: int, nbytes: int) -> int:
    for segment, slope, offset in _SEGMENTS:
        if ranks < slope * nbytes + offset:
            return segment
    return _OTHERWISE


def _pass_on(s: Endpoint, place: Place, pieces: list[int]) -> None:
    """Receive each segment while the one before is sent on; buffers are all of a segment's size."""
    receive = -1
    for i, nbytes in enumerate(pieces):
        if place.parent is not None:
            if i == 0:
                receive = s.irecv(place.parent, pieces[0])
            following = s.irecv(place.parent, pieces[0]) if i + 1 < len(pieces) else -1
            s.wait(receive)
            receive = following
        s.waitall([s.isend(child, nbytes) for child in place.children])
