"""The pipelined linear broadcast under its other name."""

from __future__ import annotations

from tisim.actions.collectives.bcast.ntsl import ntsl
from tisim.actions.script import Endpoint


def ntsl_isend(s: Endpoint, count: int, size: int, root: int) -> None:
    """Do what `ntsl` does.

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
    STAR-MPI had blocking sends in `NTSL` and non-blocking ones here; in SimGrid both have
    non-blocking ones and make the same messages.
    """
    ntsl(s, count, size, root)
