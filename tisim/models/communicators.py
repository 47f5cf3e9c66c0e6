"""Communicators of the SimPy kernel, and the collectives in progress in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import simpy

from tisim.errors import SimulationError
from tisim.kernel.driver import Group


@dataclass(slots=True, eq=False)
class CollectiveInstance:
    """A collective that a member has entered."""

    name: str  # the call of the first member
    # For each member: color and key in a `comm_split`, and its new communicator.
    colors: dict[int, tuple[int, int]] = field(default_factory=dict)
    created: dict[int, Communicator] = field(default_factory=dict)


@dataclass(eq=False)
class Communicator:
    """Some ranks of the world, and their current collectives."""

    members: list[int]  # ranks of the world, by their number in the communicator
    context: int  # of its messages, even; its collectives use the next number
    group: Group  # properties that algorithms may use

    def __post_init__(self) -> None:
        self._collectives: dict[int, CollectiveInstance] = {}
        self._entered: Counter[int] = Counter()  # collectives entered by each member
        self.number = {rank: number for number, rank in enumerate(self.members)}
        self._gathered: list[simpy.Event] = []

    def gather(self, event: simpy.Event) -> simpy.Event:
        """Trigger the event when all members have called this (``smpi/barrier-collectives``)."""
        self._gathered.append(event)
        if len(self._gathered) == len(self.members):
            for waiting in self._gathered:
                waiting.succeed()
            self._gathered.clear()
        return event

    def enter(self, rank: int, name: str) -> CollectiveInstance:
        """Enter a collective, which must be the one that the other members call."""
        self._entered[rank] += 1
        collective = self._collectives.setdefault(self._entered[rank], CollectiveInstance(name))
        if collective.name != name:
            raise SimulationError(
                f"rank {rank} calls {name}, but another rank of its communicator {collective.name}"
            )
        return collective


class Communicators:
    """All communicators of a simulation; `placement` is the host of each rank of the world."""

    def __init__(self, placement: list[int]) -> None:
        self._placement, self._contexts = placement, 0
        self._groups: dict[tuple[tuple[int, ...], int], Communicator] = {}
        self._joined: Counter[tuple[tuple[int, ...], int]] = Counter()
        self.world = self.make(list(range(len(placement))))

    def make(self, members: list[int]) -> Communicator:
        """Create a communicator of these ranks."""
        self._contexts += 2
        placement = [self._placement[rank] for rank in members]
        group = Group(placement, None if members == sorted(members) else members)
        return Communicator(members, self._contexts, group)

    def split(self, parent: Communicator, collective: CollectiveInstance) -> list[list[int]]:
        """Create a communicator for each color, with ranks ordered by key, then as in the parent.

        Returns for each communicator the numbers of its ranks in the parent, by their new numbers;
        communicators are ordered by their lowest ranks.
        """
        groups: dict[int, list[int]] = {}
        for number, rank in enumerate(parent.members):
            if collective.colors[rank][0] >= 0:
                groups.setdefault(collective.colors[rank][0], []).append(number)
        for group in groups.values():
            group.sort(key=lambda number: collective.colors[parent.members[number]][1])
            made = self.make([parent.members[number] for number in group])
            collective.created |= dict.fromkeys(made.members, made)
        return list(groups.values())

    def of_group(self, members: Sequence[int], rank: int) -> Communicator:
        """Return the oldest communicator of these ranks that this rank has not joined."""
        group = tuple(members)
        self._joined[group, rank] += 1
        key = group, self._joined[group, rank]
        if key not in self._groups:
            self._groups[key] = self.make(list(members))
        return self._groups[key]
