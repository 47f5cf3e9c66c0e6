"""Data-parallel training whose gradients go up and down a tree."""

from __future__ import annotations

from dataclasses import dataclass

from tisim.traces.generate.pattern import Program
from tisim.traces.generate.training import Training, addition


@dataclass(frozen=True, kw_only=True)
class TreeAllreduce(Training):
    """Gradients are added up to the root of a binomial tree, then the sums come down again.

    Parameters
    ----------
    nbytes
        Bytes of all gradients, numbers of four bytes.
    buckets
        Parts in which they are added up, each as soon as the backward pass has come so far.
    """

    def add_up(self, rank: int, nbytes: int) -> Program:
        # A rank's parent is the rank without its lowest bit, its children have one lower bit more.
        lowest = rank & -rank if rank else 1 << (self.ranks - 1).bit_length()
        bits = [1 << i for i in range(lowest.bit_length() - 1)]
        children = [rank + bit for bit in bits if rank + bit < self.ranks]
        program: Program = []
        for child in children:
            program += [f"recv {child} 0 {nbytes}", *addition(nbytes)]
        if rank:
            program += [f"send {rank - lowest} 0 {nbytes}", f"recv {rank - lowest} 0 {nbytes}"]
        return [*program, *(f"send {child} 0 {nbytes}" for child in reversed(children))]
