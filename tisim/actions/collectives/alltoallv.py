"""All-to-all of blocks whose sizes may differ."""

from __future__ import annotations

from collections.abc import Sequence

from tisim.actions.collectives.exchanges import (
    exchange_pairwise,
    exchange_shifted,
    exchange_throttled,
    paced_variants,
)
from tisim.actions.collectives.halving import is_power_of_two
from tisim.actions.collectives.nonblocking import ialltoallv
from tisim.actions.script import Endpoint


def _blocks(
    scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> tuple[list[int], list[int]]:
    return [count * ssize for count in scounts], [count * rsize for count in rcounts]


def bruck(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """Messages to four ranks at a time.

    The name is SimGrid's; unlike the algorithm of Bruck et al., it forwards no data.
    """
    exchange_throttled(s, *_blocks(scounts, ssize, rcounts, rsize), own=False)


def pair(
    s: Endpoint,
    scounts: Sequence[int],
    ssize: int,
    rcounts: Sequence[int],
    rsize: int,
    pace: str = "",
) -> None:
    """P - 1 pairwise exchanges.

    This and the next three raise an `InputError` when the number of ranks is not a power of two.
    """
    exchange_pairwise(s, "alltoallv", *_blocks(scounts, ssize, rcounts, rsize), pace)


pair_light_barrier, pair_mpi_barrier, pair_one_barrier = paced_variants("pair", pair)


def ring(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """P - 1 exchanges, pairwise if P is a power of two.

    With a power of two of ranks it is `pair`. [Faraj]; the choice is MPICH's pairwise exchange.
    """
    if is_power_of_two(s.size):
        pair(s, scounts, ssize, rcounts, rsize)
    else:
        _ring(s, scounts, ssize, rcounts, rsize)


def _ring(
    s: Endpoint,
    scounts: Sequence[int],
    ssize: int,
    rcounts: Sequence[int],
    rsize: int,
    pace: str = "",
) -> None:
    exchange_shifted(s, *_blocks(scounts, ssize, rcounts, rsize), pace)


ring_light_barrier, ring_mpi_barrier, ring_one_barrier = paced_variants("ring", _ring)


def ompi_basic_linear(
    s: Endpoint, scounts: Sequence[int], ssize: int, rcounts: Sequence[int], rsize: int
) -> None:
    """All messages at once.

    Post all receives, then all sends, in the order of the ranks, and wait. Open MPI,
    ``coll/tuned``: linear alltoallv.
    """
    s.waitall(ialltoallv(s, scounts, ssize, rcounts, rsize))
