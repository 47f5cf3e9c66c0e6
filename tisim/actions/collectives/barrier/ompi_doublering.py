"""Barrier of a message that goes twice around a ring."""

from __future__ import annotations

from tisim.actions.script import Endpoint


def ompi_doublering(s: Endpoint) -> None:
    """Pass two messages around the ring of ranks, one after the other.

    Parameters
    ----------
    s
        A rank of the communicator.

    Notes
    -----
    Open MPI's `coll/base` (`barrier_intra_doublering`). As in SimGrid, a rank that is alone in its
    communicator sends to itself.
    """
    left, right = (s.rank - 1) % s.size, (s.rank + 1) % s.size
    for _ in range(2):
        if s.rank:
            s.recv(left, 0)
            s.send(right, 0)
        else:
            s.send(right, 0)
            s.recv(left, 0)
