"""The messages that making a communicator takes."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.collectives import nonblocking
from tisim.actions.script import Endpoint

_COLOR_AND_KEY = 8  # bytes of two integers
_GROUP = 8  # bytes of SimGrid's message that tells a rank its new communicator
_NUMBER = 4  # bytes of the number of a communicator


def gather_colors(s: Endpoint) -> None:
    """Write how MPI_Comm_split begins: rank 0 gathers the colours and keys."""
    s.waitall(nonblocking.igather(s, 1, _COLOR_AND_KEY, 1, _COLOR_AND_KEY, 0))


def tell_groups(s: Endpoint, groups: Sequence[Sequence[int]]) -> None:
    """Write how rank 0 tells every other rank its new communicator, one after the other.

    Parameters
    ----------
    s
        Rank 0 of the communicator that is split.
    groups
        For each new communicator its ranks (as ranks of `s`) in their new order; communicators
        in the order of their lowest ranks.
    """
    for group in groups:
        s.waitall([s.isend(rank, _GROUP) for rank in group if rank != 0])


def comm_split(s: Endpoint, member: bool, groups: Sequence[Sequence[int]]) -> None:
    """Write what a rank does in MPI_Comm_split, but for the broadcast at its end.

    Rank 0 gathers the colours and keys, and tells every other rank its new communicator, one
    communicator after the other. What follows, as in MPI_Comm_dup, is a broadcast of one
    integer from rank 0 of each new communicator: that of `agree_on_number`.

    Parameters
    ----------
    s
        A rank of the communicator that is split.
    member
        Whether this rank is in one of the new ones (its colour is not negative).
    groups
        As in `tell_groups`; only rank 0 looks at it.

    Notes
    -----
    SimGrid's `Comm::split`.
    """
    gather_colors(s)
    if s.rank == 0:
        tell_groups(s, groups)
    elif member:
        s.recv(0, _GROUP)


def agree_on_number(s: Endpoint) -> None:
    """Write the broadcast of its number on a new communicator."""
    s.chosen("bcast")(s, 1, _NUMBER, 0)
