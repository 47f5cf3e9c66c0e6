"""Barrier of two ranks."""

from __future__ import annotations

from tisim.actions.script import Endpoint
from tisim.errors import InputError


def ompi_two_procs(s: Endpoint) -> None:
    """Exchange one message.

    Parameters
    ----------
    s
        A rank of the communicator.

    Notes
    -----
    Open MPI's `coll/base` (`barrier_intra_two_procs`).

    Raises
    ------
    InputError
        There are not two ranks.
    """
    if s.size != 2:
        raise InputError(
            f"barrier algorithm ompi_two_procs is for 2 ranks, not {s.size}: choose another one"
        )
    s.sendrecv(1 - s.rank, 0, 0, 1 - s.rank, 0, 0)
