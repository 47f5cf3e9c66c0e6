"""Reduction as an all-to-all and an allgather."""

from __future__ import annotations

from tisim.actions.script import Endpoint


def rab2(s: Endpoint, count: int, size: int) -> None:
    """Every rank gets its part of all vectors, reduces it, and gives it to all.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.

    Notes
    -----
    From STAR-MPI (A. Faraj, X. Yuan, D. Lowenthal, ICS 2006). Both halves are what the
    configuration names. A vector that the ranks cannot share evenly is lengthened, a very short
    one to as many elements a rank as there are ranks.
    """
    if count % s.size == 0:
        share = count // s.size
    elif count < s.size:
        share = s.size
    else:
        share = count // s.size + 1
    s.chosen("alltoall")(s, share, size, share, size)
    s.chosen("allgather")(s, share, size, share, size)
