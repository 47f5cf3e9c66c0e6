"""State shared by the ranks of a simulation: clock, models, communicators, schedules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from tisim.actions.collectives.communicators import Stage
from tisim.actions.script import Script
from tisim.errors import InputError
from tisim.kernel.driver import Group
from tisim.models.clock import Clock
from tisim.models.mpi import Begun, Communicator, PointToPoint
from tisim.models.network import NetworkModel
from tisim.models.processors import HostModel
from tisim.traces.text_program import Action, CollectiveCall, TextTrace

if TYPE_CHECKING:
    from tisim import _core
    from tisim.simulation.settings import Settings


class PollingCosts:
    """The cost of tests and probes: one counter for all ranks, as in SimGrid.

    A test takes ``smpi/test`` times 1 plus the tests that have failed since one succeeded
    (``smpi/grow-injected-times``); so does a probe, which computes for ``smpi/iprobe``.
    """

    def __init__(self, *, grow: bool) -> None:
        self._grow = grow
        self.count = {"test": 1, "testany": 1, "probe": 1}

    def note(self, kind: str, *, success: bool) -> None:
        """Note how a test or a probe ended."""
        if success:
            self.count[kind] = 1
        elif self._grow or kind == "testany":
            self.count[kind] += 1


class World:
    """The ranks of a trace and what they share.

    `hosts` is the host of each rank, by its index. `network`, `processors` are the models.
    """

    def __init__(
        self,
        trace: TextTrace,
        settings: Settings,
        hosts: Sequence[int],
        network: NetworkModel,
        processors: HostModel,
    ) -> None:
        self.trace, self.protocol = trace, settings.protocol
        self.simulates_computation = settings.cpu.simulate_computation
        self.clock = Clock(settings.network.precision_timing)
        self.network, self.hosts = network, processors
        network.attach(self.clock, settings)
        processors.attach(self.clock, settings)
        self._settings, self._placement = settings, list(hosts)
        overheads = [settings.overheads_of(host) for host in hosts]
        envelope = settings.network.envelope
        self.messages = PointToPoint(self._placement, self.protocol, overheads, network, envelope)
        self.polling = PollingCosts(grow=self.protocol.grow_injected_times)
        self._contexts = 0
        self._fruitless_probes = 0
        self._groups: dict[tuple[int, ...], list[tuple[Communicator, set[int]]]] = {}
        self._schedules: dict[tuple[object, ...], Script] = {}
        self.communicator = self._communicator(list(range(len(hosts))))
        #: For each rank, returns true if it waits for others or has finished.
        self.is_stuck: list[Callable[[], bool]] = []

    def nothing_will_come(self) -> bool:
        """True if all ranks wait for others or probe in vain; asked less often as this goes on."""
        self._fruitless_probes += 1
        if self._fruitless_probes & (self._fruitless_probes - 1) or self.network.in_progress:
            return False
        return all(is_stuck() for is_stuck in self.is_stuck)

    # Communicators

    def _communicator(self, members: list[int]) -> Communicator:
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
            made = self._communicator([parent.members[number] for number in group])
            begun.made |= dict.fromkeys(made.members, made)
        return list(groups.values())

    def group(self, members: Sequence[int], rank: int) -> Communicator:
        """The oldest communicator of these ranks that this one has not joined."""
        listed = self._groups.setdefault(tuple(members), [])
        for made, joined in listed:
            if rank not in joined:
                joined.add(rank)
                return made
        made = self._communicator(list(members))
        listed.append((made, {rank}))
        return made

    # Schedules of collectives

    def expand(
        self, action: Action, call: CollectiveCall, communicator: Communicator, rank: int
    ) -> Script:
        """The schedule of a rank in a collective."""
        number = communicator.number[rank]
        before = communicator.group.surveyed_by(number)
        key = (action.name, action.words, action.double, communicator.context, number, before)
        schedule = self._schedules.get(key)
        if schedule is None:
            schedule = self._schedules[key] = self._empty(communicator, number)
            try:
                self._settings.write_call(schedule, cast("_core.CollectiveCall", call))
            except InputError as error:
                file, line = self.trace.place(rank, action.line)
                raise InputError(error.message, file=file, line=line) from None
        communicator.group.surveyed[number] = schedule.surveyed
        return schedule

    def _empty(self, communicator: Communicator, number: int) -> Script:
        group = communicator.group
        surveyed = group.surveyed_by(number)
        return self._settings.script(number, group.placement, group.order, surveyed)

    def stage(
        self,
        stage: Stage,
        communicator: Communicator,
        rank: int,
        groups: Sequence[Sequence[int]] = (),
        *,
        joins: bool = True,
    ) -> Script:
        """The schedule of a rank in a stage of the making of a communicator."""
        number = communicator.number[rank]
        schedule = self._empty(communicator, number)
        self._settings.write_stage(schedule, stage, joins, groups)
        communicator.group.surveyed[number] = schedule.surveyed
        return schedule
