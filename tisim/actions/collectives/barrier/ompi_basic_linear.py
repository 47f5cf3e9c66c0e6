"""Linear barrier through rank 0, as in Open MPI's `coll/basic`."""

from __future__ import annotations

from tisim.actions.script import Endpoint


def ompi_basic_linear(s: Endpoint) -> None:
    """Rank 0 hears from everybody, then answers everybody.

    Parameters
    ----------
    s
        A rank of the communicator.

    Notes
    -----
    The linear barrier of Open MPI (`coll/basic`), with non-blocking messages on rank 0.
    """
    if s.rank > 0:
        s.send(0, 0)
        s.recv(0, 0)
        return
    s.waitall([s.irecv(other, 0) for other in range(1, s.size)])
    s.waitall([s.isend(other, 0) for other in range(1, s.size)])
