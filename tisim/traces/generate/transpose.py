"""Transposes: everyone sends to everyone, as in a parallel Fourier transform."""

from __future__ import annotations

from dataclasses import dataclass

from tisim.traces.generate.pattern import Pattern, Program


@dataclass(frozen=True, kw_only=True)
class Transpose(Pattern):
    """Every rank computes and takes part in an all-to-all.

    Parameters
    ----------
    nbytes
        Bytes from each rank to each other one.
    """

    nbytes: int = 4096

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("nbytes", self.nbytes >= 0, "at least 0")

    def iteration(self, rank: int) -> Program:
        return [1.0, f"alltoall {self.nbytes} {self.nbytes}"]
