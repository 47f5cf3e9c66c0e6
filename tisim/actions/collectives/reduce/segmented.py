"""Open MPI's reduction of a vector in segments along any tree."""

from __future__ import annotations

from tisim.actions.collectives.topology import Place, cut, segment_elements
from tisim.actions.script import Endpoint


def reduce_segments(s: Endpoint, place: Place, count: int, size: int, segment_bytes: int) -> None:
    """Receive each segment from each child while the one before is waited for, then pass it up.

    Parameters
    ----------
    s
        A rank of the communicator.
    place
        Its place in the tree.
    count, size
        Number of elements and the width of one in bytes.
    segment_bytes
        The length of a segment; the whole vector is one if an element is longer.

    Notes
    -----
    `ompi_coll_base_reduce_generic`, without its limit on a leaf's pending sends, which nobody sets.
    """
    segment = segment_elements(segment_bytes, size, count)
    pieces = [elements * size for elements in cut(count, segment)]
    if not place.children:
        if place.parent is not None:
            for nbytes in pieces:
                s.send(place.parent, nbytes)
        return
    waiting = -1
    for i, nbytes in enumerate(pieces):
        for child in place.children:
            posted = s.irecv(child, nbytes)
            if waiting >= 0:
                s.wait(waiting)
            waiting = posted
            if i and child == place.children[0] and place.parent is not None:
                s.send(place.parent, pieces[i - 1])
    if pieces:
        s.wait(waiting)
        if place.parent is not None:
            s.send(place.parent, pieces[-1])
