"""Alltoall: all messages at once."""

from __future__ import annotations

from tisim.actions.collectives.nonblocking import ialltoall
from tisim.actions.script import Endpoint


def basic_linear(s: Endpoint, scount: int, ssize: int, rcount: int, rsize: int) -> None:
    """Post all receives, then all sends in the opposite order, and wait.

    References
    ----------
    Open MPI, ``coll/basic`` and ``coll/tuned``: linear alltoall.
    """
    s.waitall(ialltoall(s, scount, ssize, rcount, rsize))
