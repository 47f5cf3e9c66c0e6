"""Gather: the root calls every rank in turn, which then sends in two segments."""

from __future__ import annotations

from tisim.actions.collectives.topology import segment_elements
from tisim.actions.script import Endpoint

_LARGE_BLOCK = 92160  # bytes
_LARGE_SEGMENT = 32768
_SMALL_SEGMENT = 1024


def ompi_linear_sync(
    s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int, root: int
) -> None:
    """A rank waits for the root's empty message, then sends its first segment and the rest.

    The root waits for the first segment of a rank before it calls the next one; the second
    segments (empty for small blocks) arrive in the background.

    References
    ----------
    Open MPI, ``coll/tuned``: synchronized linear gather.

    Notes
    -----
    SimGrid hangs in it when one segment is below `smpi/async-small-thresh` and the other is not:
    the second segment's receive takes the first one.
    """
    if s.rank != root:
        first, second = _segments(scount, ssize)
        s.recv(root, 0)
        s.send(root, first)
        s.send(root, second)
        return
    first, second = _segments(rcount, rsize)
    seconds = []
    for source in range(s.size):
        if source != root:
            request = s.irecv(source, first)
            s.send(source, 0)
            seconds.append(s.irecv(source, second))
            s.wait(request)
    s.waitall(seconds)


def _segments(count: int, size: int) -> tuple[int, int]:
    """Bytes of the first segment and of the rest."""
    segment = _LARGE_SEGMENT if count * size > _LARGE_BLOCK else _SMALL_SEGMENT
    first = segment_elements(segment, size, count)
    return first * size, (count - first) * size
