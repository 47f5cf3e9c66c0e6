"""Communicators of the SimPy kernel, and the collectives under way in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import simpy

from tisim.errors import SimulationError
from tisim.kernel.driver import Group


@dataclass(slots=True, eq=False)
class Begun:
    """A collective that not all members have entered or left.

    `name`: what the first called. `colors`: of a `comm_split`: color and key of each member. `made`
    is the new communicator of each member.
    """

    name: str
    left: int
    colors: dict[int, tuple[int, int]] = field(default_factory=dict)
    made: dict[int, Communicator] = field(default_factory=dict)


@dataclass(eq=False)
class Communicator:
    """Some ranks of the world, and the collectives that they are in.

    Attributes
    ----------
    members
        Ranks of the world, by their number in the communicator.
    context
        Of its messages, even; those of its collectives have the next number.
    group
        What algorithms may know of it.
    begun
        The collectives that some have entered.
    gathered
        Who waits for the others before a collective (``smpi/barrier-collectives``).
    """

    members: list[int]
    context: int
    group: Group
    begun: dict[int, Begun] = field(default_factory=dict)
    gathered: list[simpy.Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.entered = [0] * len(self.members)  # how many collectives each member has entered
        self.number = {rank: number for number, rank in enumerate(self.members)}

    def enter(self, rank: int, name: str) -> Begun:
        """Enter a collective, which must be what the others call too."""
        number = self.number[rank]
        sequence = self.entered[number]
        self.entered[number] += 1
        begun = self.begun.setdefault(sequence, Begun(name, len(self.members)))
        if begun.name != name:
            raise SimulationError(
                f"rank {rank} calls {name} where another rank of the communicator calls "
                f"{begun.name}"
            )
        begun.left -= 1
        if begun.left == 0:
            del self.begun[sequence]
        return begun


class Communicators:
    """All communicators of a simulation; `placement` is the host of each rank of the world."""

    def __init__(self, placement: list[int]) -> None:
        self._placement, self._contexts = placement, 0
        self._groups: dict[tuple[int, ...], list[tuple[Communicator, set[int]]]] = {}
        self.world = self.make(list(range(len(placement))))

    def make(self, members: list[int]) -> Communicator:
        """A new communicator of these ranks."""
        self._contexts += 2
        placement = [self._placement[rank] for rank in members]
        group = Group(placement, None if members == sorted(members) else members)
        return Communicator(members, self._contexts, group)

    def split(self, parent: Communicator, begun: Begun) -> list[list[int]]:
        """Make a communicator for each color, in the order of the keys, then of the parent.

        Returns for each communicator the numbers of its ranks in the parent, by their new numbers;
        communicators by their lowest ranks.
        """
        groups: dict[int, list[int]] = {}
        for number, rank in enumerate(parent.members):
            if begun.colors[rank][0] >= 0:
                groups.setdefault(begun.colors[rank][0], []).append(number)
        for group in groups.values():
            group.sort(key=lambda number: begun.colors[parent.members[number]][1])
            made = self.make([parent.members[number] for number in group])
            begun.made |= dict.fromkeys(made.members, made)
        return list(groups.values())

    def of_group(self, members: Sequence[int], rank: int) -> Communicator:
        """The oldest communicator of these ranks that this one has not joined."""
        listed = self._groups.setdefault(tuple(members), [])
        for made, joined in listed:
            if rank not in joined:
                joined.add(rank)
                return made
        made = self.make(list(members))
        listed.append((made, {rank}))
        return made
