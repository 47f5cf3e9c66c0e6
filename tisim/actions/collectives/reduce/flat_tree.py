"""Linear reduction under STAR-MPI's name."""

from __future__ import annotations

from tisim.actions.collectives.reduce.ompi_basic_linear import ompi_basic_linear
from tisim.actions.script import Endpoint


def flat_tree(s: Endpoint, count: int, size: int, root: int) -> None:
    """The root receives from one rank after the other, the last rank first.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.
    root
        The rank that gets the result.

    Notes
    -----
    From STAR-MPI (A. Faraj, X. Yuan, D. Lowenthal, ICS 2006); the messages are those of Open MPI's
    linear reduction.
    """
    ompi_basic_linear(s, count, size, root)
