"""Alltoallv: all messages at once."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.collectives.nonblocking import ialltoallv
from tisim.actions.script import Endpoint


def ompi_basic_linear(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """Post all receives, then all sends, in the order of the ranks, and wait.

    References
    ----------
    Open MPI, ``coll/tuned``: linear alltoallv.
    """
    s.waitall(ialltoallv(s, scounts, ssize, rcounts, rsize))
