"""The messages that making a communicator takes."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.collectives import nonblocking
from tisim.actions.script import Endpoint

_COLOR_AND_KEY = 8  # bytes of two integers
_GROUP = 8  # bytes of SimGrid's message that tells a rank its new communicator


def comm_split(s: Endpoint, member: bool, groups: Sequence[Sequence[int]]) -> None:
    """Write what a rank does in MPI_Comm_split, but for the broadcast at its end.

    Rank 0 gathers the colours and keys, and tells every other rank its new communicator, one
    communicator after the other. What follows, as in MPI_Comm_dup, is a broadcast of one
    integer from rank 0 of each new communicator: that of the line ``bcast 1 0 1`` on it.

    Parameters
    ----------
    s
        A rank of the communicator that is split.
    member
        Whether this rank is in one of the new ones (its colour is not negative).
    groups
        For each new communicator its ranks (as ranks of `s`) in their new order; communicators
        in the order of their lowest ranks. Only rank 0 looks at it.

    Notes
    -----
    SimGrid's `Comm::split`.
    """
    s.waitall(nonblocking.igather(s, 1, _COLOR_AND_KEY, 1, _COLOR_AND_KEY, 0))
    if s.rank == 0:
        for group in groups:
            s.waitall([s.isend(rank, _GROUP) for rank in group if rank != 0])
    elif member:
        s.recv(0, _GROUP)
