"""Reduction by recursive halving, then an allgather."""

from __future__ import annotations

from tisim.actions.collectives.preconditions import demand_power_of_two
from tisim.actions.script import Endpoint


def rab1(s: Endpoint, count: int, size: int) -> None:
    """Halve the vector with ever nearer ranks, then call the configured allgather.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.

    Notes
    -----
    From STAR-MPI (A. Faraj, X. Yuan, D. Lowenthal, ICS 2006), after R. Rabenseifner. It needs a
    power of two of ranks; a vector that they cannot share evenly is lengthened.

    Raises
    ------
    InputError
        The number of ranks is not a power of two.
    """
    demand_power_of_two(s.size, "allreduce algorithm rab1")
    share = count // s.size + (1 if count % s.size else 0)
    mask = s.size >> 1
    while mask:
        peer = s.rank ^ mask
        s.sendrecv(peer, mask * share * size, 0, peer, mask * share * size, 0)
        mask >>= 1
    s.chosen("allgather")(s, share, size, share, size)
