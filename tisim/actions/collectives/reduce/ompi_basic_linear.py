"""Linear reduction, as in Open MPI's `coll/basic`."""

from __future__ import annotations

from tisim.actions.script import Endpoint


def ompi_basic_linear(s: Endpoint, count: int, size: int, root: int) -> None:
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
    The order lets Open MPI apply operations that do not commute (`coll/basic`).
    """
    nbytes = count * size
    if s.rank != root:
        s.send(root, nbytes)
        return
    for other in range(s.size - 1, -1, -1):
        if other != root:
            s.recv(other, nbytes)
