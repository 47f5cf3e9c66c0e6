"""Data-parallel training: gradients are computed, then added up over all ranks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from tisim.traces.generate.pattern import Pattern, Program

# Of the flops of a step, the forward pass takes a third and the backward pass the rest.
_FORWARD = 1 / 3


@dataclass(frozen=True, kw_only=True)
class Training(Pattern, ABC):
    """Steps of data-parallel training; how gradients are added up is left to the patterns.

    Parameters
    ----------
    nbytes
        Bytes of all gradients, numbers of four bytes.
    buckets
        Parts in which they are added up, each as soon as the backward pass has come so far.
    """

    nbytes: int = 1 << 20
    buckets: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("nbytes", self.nbytes >= 0, "at least 0")
        self._check("buckets", self.buckets >= 1, "at least 1")

    @abstractmethod
    def add_up(self, rank: int, nbytes: int) -> Program:
        """Add a bucket of gradients up over all ranks."""

    def iteration(self, rank: int) -> Program:
        program: Program = [_FORWARD]
        for bucket in range(self.buckets):
            program.append((1 - _FORWARD) / self.buckets)
            program += self.add_up(rank, part(self.nbytes, self.buckets, bucket))
        return program


def part(whole: int, parts: int, index: int) -> int:
    """One of `parts` parts that are as equal as can be."""
    return whole * (index + 1) // parts - whole * index // parts


def addition(nbytes: int) -> Program:
    """Add two lots of gradients."""
    return [f"compute {nbytes // 4}"] if nbytes >= 4 else []
