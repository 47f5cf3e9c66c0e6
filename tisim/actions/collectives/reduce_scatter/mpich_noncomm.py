"""Reduce-scatter: recursive halving that keeps the order of the operands."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.collectives.preconditions import demand_power_of_two
from tisim.actions.script import Endpoint
from tisim.errors import InputError


def mpich_noncomm(s: Endpoint, rcounts: Sequence[int], size: int) -> None:
    """In step k exchange half of what is left with the rank that differs in bit k.

    References
    ----------
    M. Bernaschi, G. Iannello, M. Lauria: Efficient Implementation of Reduce-scatter in MPI.
    J. Systems Architecture 49(3), 2003; as in MPICH.

    Raises
    ------
    InputError
        When the number of ranks is not a power of two, or the blocks are not of equal size.
    """
    demand_power_of_two(s.size, "reduce_scatter algorithm mpich_noncomm")
    if any(count != rcounts[0] for count in rcounts):
        raise InputError(
            "reduce_scatter algorithm mpich_noncomm needs the same count for every rank: "
            "choose another algorithm"
        )
    left = rcounts[0] * s.size
    distance = 1
    while distance < s.size:
        left //= 2
        peer = s.rank ^ distance
        s.sendrecv(peer, left * size, 0, peer, left * size, 0)
        distance *= 2
