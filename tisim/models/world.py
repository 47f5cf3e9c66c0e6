"""State shared by the ranks of a simulation: clock, models, communicators, schedules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from tisim.actions.collectives.communicators import Stage
from tisim.actions.script import Script
from tisim.models.clock import Clock
from tisim.models.communicators import Communicator, Communicators
from tisim.models.messages import PointToPoint
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
    """The ranks of a trace and what they share: clock, models, communicators, schedules.

    `placement` is the host of each rank, by its index. `network`, `hosts` are the models.
    """

    def __init__(
        self,
        trace: TextTrace,
        settings: Settings,
        placement: list[int],
        network: NetworkModel,
        hosts: HostModel,
    ) -> None:
        self.trace, self.protocol, self._settings = trace, settings.protocol, settings
        self.simulates_computation = settings.cpu.simulate_computation
        self.clock = Clock(settings.network.precision_timing)
        self.network, self.hosts = network, hosts
        network.attach(self.clock, settings)
        hosts.attach(self.clock, settings)
        overheads = [settings.overheads_of(host) for host in placement]
        envelope = settings.network.envelope
        self.messages = PointToPoint(placement, self.protocol, overheads, network, envelope)
        self.communicators = Communicators(placement)
        self.polling = PollingCosts(grow=self.protocol.grow_injected_times)
        self._fruitless_probes = 0
        self._schedules: dict[tuple[object, ...], Script] = {}
        #: For each rank, returns true if it waits for others or has finished.
        self.is_stuck: list[Callable[[], bool]] = []

    def nothing_will_come(self) -> bool:
        """True if all ranks wait for others or probe in vain; asked less often as this goes on."""
        self._fruitless_probes += 1
        if self._fruitless_probes & (self._fruitless_probes - 1) or self.network.in_progress:
            return False
        return all(is_stuck() for is_stuck in self.is_stuck)

    def schedule(
        self, rank: int, action: Action, call: CollectiveCall, communicator: Communicator
    ) -> Script:
        """The schedule of a rank in a collective."""
        group, number = communicator.group, communicator.number[rank]
        before = group.surveyed_by(number)
        key = (action.name, action.words, action.double, communicator.context, number, before)
        schedule = self._schedules.get(key)
        if schedule is None:
            schedule = self._schedules[key] = group.script(self._settings, number)
            self._settings.write_call(schedule, cast("_core.CollectiveCall", call))
        group.surveyed[number] = schedule.surveyed
        return schedule

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
        group, number = communicator.group, communicator.number[rank]
        schedule = group.script(self._settings, number)
        self._settings.write_stage(schedule, stage, joins, groups)
        group.surveyed[number] = schedule.surveyed
        return schedule
