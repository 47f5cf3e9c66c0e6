"""Equal blocks of consecutive ranks, which STAR-MPI's two-level algorithms treat as hosts.

They assume the first c ranks on one host, the next c on another, and so on, where c is the
number of ranks of a host, whatever the placement.
"""

from __future__ import annotations

from tisim.actions.collectives.trees import bcast_down, reduce_up
from tisim.actions.nodes import nodes
from tisim.actions.script import Endpoint


class Blocks:
    """One rank's place in the blocks of its communicator.

    `cores` is the number of ranks of a block, a divisor of the number of ranks; `number` is the
    number of blocks. `block` is the index of this rank's block and `core` its place in it; place 0
    is the leader. `leader` is the rank of this block's leader.
    """

    __slots__ = ("s", "cores", "number", "block", "core", "leader")

    def __init__(self, s: Endpoint, cores: int) -> None:
        self.s = s
        self.cores = cores
        self.number = s.size // cores
        self.block, self.core = divmod(s.rank, cores)
        self.leader = s.rank - self.core

    def bcast_among(self, nbytes: int) -> None:
        """Broadcast from rank 0 to all leaders."""
        if self.core == 0:
            bcast_down(self.s, nbytes, self.block, self.number, 0, self.cores)

    def bcast_within(self, nbytes: int) -> None:
        """Broadcast from the leader to its block."""
        bcast_down(self.s, nbytes, self.core, self.cores, self.leader)

    def reduce_within(self, nbytes: int) -> None:
        """Reduce from the block to its leader."""
        reduce_up(self.s, nbytes, self.core, self.cores, self.leader)

    def reduce_among(self, nbytes: int) -> None:
        """Reduce from all leaders to rank 0."""
        if self.core == 0:
            reduce_up(self.s, nbytes, self.block, self.number, 0, self.cores)

    def neighbours(self) -> tuple[int, int]:
        """Leaders of the next and of the previous block, cyclically."""
        size = self.s.size
        return (self.leader + self.cores) % size, (self.leader - self.cores) % size


def blocks_of_hosts(s: Endpoint) -> Blocks:
    """Return blocks of as many ranks as a host has; of one rank if hosts have unequal numbers."""
    layout = nodes(s).layout
    return Blocks(s, layout.sizes[0] if layout.uniform else 1)
