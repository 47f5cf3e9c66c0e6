"""Wavefronts: sweeps through a plane of ranks from corner to corner, as in NAS LU."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tisim.traces.generate.grid import check_grid, neighbour, process_grid
from tisim.traces.generate.pattern import Pattern, Program


@dataclass(frozen=True, kw_only=True)
class Wavefront(Pattern):
    """Every iteration sweeps from the first rank to the last and back, plane by plane.

    A rank waits for its part of a plane from two neighbours, computes, and passes it on to the
    two others, as in the triangular solves of LU and in particle transport (Sweep3D).

    Parameters
    ----------
    grid
        Ranks in each of two dimensions; as even as can be by default.
    planes
        Planes of a sweep; more of them keep more ranks busy and need more messages.
    nbytes
        Bytes that a rank passes on for each plane, in each direction.
    """

    grid: tuple[int, ...] = ()
    planes: int = 10
    nbytes: int = 1024

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.grid:
            check_grid(self.grid, self.ranks, 2)
        self._check("planes", self.planes >= 1, "at least 1")
        self._check("nbytes", self.nbytes >= 0, "at least 0")

    @cached_property
    def sides(self) -> tuple[int, ...]:
        """Ranks in each dimension."""
        return self.grid or process_grid(self.ranks, 2)

    def iteration(self, rank: int) -> Program:
        return [
            *self._plane(rank, 1) * self.planes,
            *self._plane(rank, -1) * self.planes,
        ]

    def _plane(self, rank: int, direction: int) -> Program:
        def beside(step: int) -> list[int]:
            ranks = [neighbour(rank, self.sides, d, step, periodic=False) for d in (0, 1)]
            return [other for other in ranks if other >= 0]

        return [
            *(f"recv {source} 0 {self.nbytes}" for source in beside(-direction)),
            1 / (2 * self.planes),
            *(f"send {target} 0 {self.nbytes}" for target in beside(direction)),
        ]
