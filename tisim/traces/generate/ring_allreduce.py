"""Data-parallel training whose gradients go round a ring."""

from __future__ import annotations

from dataclasses import dataclass

from tisim.traces.generate.pattern import Program
from tisim.traces.generate.training import Training, addition, part


@dataclass(frozen=True, kw_only=True)
class RingAllreduce(Training):
    """Gradients are added up round a ring, then the sums go round once more.

    Every rank sends ``2 (ranks - 1) / ranks`` of the gradients, in as many steps as twice the
    other ranks (Patarasuk and Yuan, 2009). A trace has that many lines for each rank.

    Parameters
    ----------
    nbytes
        Bytes of all gradients, numbers of four bytes.
    buckets
        Parts in which they are added up, each as soon as the backward pass has come so far.
    """

    def add_up(self, rank: int, nbytes: int) -> Program:
        n = self.ranks
        after, before = (rank + 1) % n, (rank - 1) % n
        program: Program = []
        for step in range(2 * (n - 1)):
            sent = part(nbytes, n, (rank - step) % n)
            received = part(nbytes, n, (rank - step - 1) % n)
            program += [
                f"irecv {before} 0 {received}",
                f"send {after} 0 {sent}",
                f"wait {before} {rank} 0",
            ]
            if step < n - 1:
                program += addition(received)
        return program
