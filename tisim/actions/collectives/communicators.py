"""Messages that the creation of a communicator exchanges."""

from __future__ import annotations

from collections.abc import Sequence

from tisim._core import Stage as Stage
from tisim.actions.collectives import nonblocking
from tisim.actions.script import Endpoint

_COLOR_AND_KEY = 8  # bytes of two integers
_GROUP = 8  # bytes of SimGrid's message that tells a rank its new communicator
_NUMBER = 4  # bytes of a communicator's number


def write_stage(s: Endpoint, stage: Stage, joins: bool, groups: Sequence[Sequence[int]]) -> None:
    """Write the schedule of a rank in a stage of MPI_Comm_split or MPI_Comm_dup (`Comm::split`).

    `s` is a rank of the parent or, in ``NUMBER``, of the new communicator. `stage`: rank 0 of the
    parent has ``COLORS``, then ``GROUPS``; its other ranks have ``GROUPS`` for both; the ranks of
    the new communicator have ``NUMBER``. `joins`: the rank joins a new communicator (its colour is
    not negative). `groups` (in ``GROUPS`` on rank 0): the ranks of each new communicator, as ranks
    of the parent in their new order. Communicators are ordered by their lowest ranks.
    """
    if stage == Stage.NUMBER:
        s.chosen("bcast")(s, 1, _NUMBER, 0)
        return
    if stage == Stage.COLORS or s.rank:
        s.waitall(nonblocking.igather(s, 1, _COLOR_AND_KEY, 1, _COLOR_AND_KEY, 0))
    if stage == Stage.GROUPS and s.rank == 0:
        for group in groups:
            s.waitall([s.isend(rank, _GROUP) for rank in group if rank != 0])
    elif stage == Stage.GROUPS and joins:
        s.recv(0, _GROUP)
