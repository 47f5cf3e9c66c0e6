"""Halo exchange: ranks in a grid swap the faces of their parts of it with their neighbours."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from tisim.traces.generate.grid import check_grid, neighbour, process_grid
from tisim.traces.generate.pattern import Pattern, Program


@dataclass(frozen=True, kw_only=True)
class _Halo(Pattern, ABC):
    """The exchange in any number of dimensions.

    Parameters
    ----------
    grid
        Ranks in each dimension, the one that runs fastest first; as even as can be by default.
    nbytes
        Bytes of a face: one number, or one a dimension.
    periodic
        Whether the grid's ends are neighbours too.
    """

    dimensions: ClassVar[int]

    grid: tuple[int, ...] = ()
    nbytes: int | tuple[int, ...] = 8192
    periodic: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.grid:
            check_grid(self.grid, self.ranks, self.dimensions)
        several = f"one number or {self.dimensions}, one a dimension"
        self._check("nbytes", len(self.faces) == self.dimensions, several)
        self._check("nbytes", min(self.faces) >= 0, "at least 0")

    @cached_property
    def sides(self) -> tuple[int, ...]:
        """Ranks in each dimension."""
        return self.grid or process_grid(self.ranks, self.dimensions)

    @cached_property
    def faces(self) -> tuple[int, ...]:
        """Bytes of a face in each dimension."""
        if isinstance(self.nbytes, int):
            return (self.nbytes,) * self.dimensions
        return tuple(self.nbytes)

    def iteration(self, rank: int) -> Program:
        receives: Program = []
        sends: Program = []
        for dimension, nbytes in enumerate(self.faces):
            before, after = (
                neighbour(rank, self.sides, dimension, step, self.periodic) for step in (-1, 1)
            )
            # What moves one way carries one tag, so that both neighbours may be one rank.
            backwards, forwards = 2 * dimension, 2 * dimension + 1
            if after not in (rank, -1):
                receives.append(f"irecv {after} {backwards} {nbytes}")
                sends.append(f"isend {after} {forwards} {nbytes}")
            if before not in (rank, -1):
                receives.append(f"irecv {before} {forwards} {nbytes}")
                sends.append(f"isend {before} {backwards} {nbytes}")
        return [*receives, *sends, "waitall", 1.0] if receives else [1.0]


@dataclass(frozen=True, kw_only=True)
class Halo2D(_Halo):
    """Ranks in a plane compute and swap edges with up to four neighbours.

    Parameters
    ----------
    grid
        Ranks in each dimension, the one that runs fastest first; as even as can be by default.
    nbytes
        Bytes of an edge: one number, or one a dimension.
    periodic
        Whether the grid's ends are neighbours too.
    """

    dimensions: ClassVar[int] = 2


@dataclass(frozen=True, kw_only=True)
class Halo3D(_Halo):
    """Ranks in a box compute and swap faces with up to six neighbours.

    Parameters
    ----------
    grid
        Ranks in each dimension, the one that runs fastest first; as even as can be by default.
    nbytes
        Bytes of a face: one number, or one a dimension.
    periodic
        Whether the grid's ends are neighbours too.
    """

    dimensions: ClassVar[int] = 3
