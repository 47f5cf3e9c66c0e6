"""Neighbourhood collectives from Pilgrim's data, in the vocabulary of a trace."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tisim.traces.importers.mpi_calls import MpiCall
from tisim.traces.importers.rank_calls import PROC_NULL

CALLS = frozenset(
    f"Neighbor_{name}" for name in ("allgather", "allgatherv", "alltoall", "alltoallv")
)
_NULL_OF_MPI = {-1, -2}  # MPI_PROC_NULL of MPICH and of Open MPI


class Neighbours(NamedTuple):
    """The neighbours of a rank in a topology, in a line's order."""

    destinations: list[int]
    sources: list[int]
    #: In a grid, MPI lists the source below before the one above; a line does the opposite, so that
    #: of two messages between the same ranks the first one sent is the first one received.
    is_grid: bool


def of_grid(rank: int, extents: Sequence[int], periods: Sequence[int]) -> Neighbours:
    """Return a rank's neighbours in a Cartesian grid whose last dimension varies fastest."""
    stride = math.prod(extents)
    beside: list[int] = []
    for extent, periodic in zip(extents, periods, strict=True):
        stride //= extent
        place = rank // stride % extent
        for other in (place - 1, place + 1):
            inside = 0 <= other < extent
            moved = other % extent - place
            beside.append(rank + moved * stride if inside or periodic else PROC_NULL)
    return Neighbours(beside, [beside[i ^ 1] for i in range(len(beside))], True)


def of_graph(call: MpiCall) -> Neighbours:
    """Return the neighbours listed by MPI_Dist_graph_create_adjacent."""
    destinations, sources = (
        [PROC_NULL if rank in _NULL_OF_MPI else rank for rank in call.lists[name]]
        for name in ("destinations", "sources")
    )
    return Neighbours(destinations, sources, False)


def words(call: MpiCall, neighbours: Neighbours, size: Callable[[str], int]) -> str:
    """Format a collective without the leading rank. Raises ValueError if the trace lacks the counts
    of some neighbours. `size` returns the bytes of a field's datatype.
    """
    parts = [call.function.lower()]
    for side in neighbours[:2]:
        parts += map(str, (len(side), *side))
    for name, side, swap in (
        ("send", neighbours[0], 0),
        ("recv", neighbours[1], neighbours.is_grid),
    ):
        element = size(f"{name}type")
        if f"{name}count" in call.numbers:
            parts.append(str(call.numbers[f"{name}count"] * element))
            continue
        counts = call.lists[f"{name}counts"]
        if len(counts) < len(side):
            raise ValueError
        parts += [str(counts[i ^ swap] * element) for i in range(len(side))]
    return " ".join(parts)
