"""A ring: every rank passes a message on to the next."""

from __future__ import annotations

from dataclasses import dataclass

from tisim.traces.generate.pattern import Pattern, Program


@dataclass(frozen=True, kw_only=True)
class Ring(Pattern):
    """Every rank computes, sends to the next and receives from the one before.

    All of them do so at once: a shift, as in a systolic matrix product.

    Parameters
    ----------
    nbytes
        Bytes of a message.
    """

    nbytes: int = 1024

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("nbytes", self.nbytes >= 0, "at least 0")

    def iteration(self, rank: int) -> Program:
        if self.ranks == 1:
            return [1.0]
        after, before = (rank + 1) % self.ranks, (rank - 1) % self.ranks
        return [
            1.0,
            f"irecv {before} 0 {self.nbytes}",
            f"isend {after} 0 {self.nbytes}",
            "waitall",
        ]
