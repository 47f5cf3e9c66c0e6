"""State shared by the ranks of a simulation: clock, models, communicators, schedules."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tisim.models.clock import Clock
from tisim.models.communicators import Communicator, Communicators
from tisim.models.messages import PointToPoint
from tisim.models.network import NetworkModel
from tisim.models.processors import HostModel

if TYPE_CHECKING:
    from tisim.actions.script import Script
    from tisim.simulation.settings import Settings
    from tisim.traces.text_program import TextTrace


@dataclass
class World:
    """The ranks of a trace and what they share: clock, models, messages, communicators.

    `placement` is the host of each rank, by its index. A test takes ``smpi/test`` times its entry
    in `polls`: 1 plus the tests, of all ranks, that have failed since one succeeded
    (``smpi/grow-injected-times``); so does a probe, which computes for ``smpi/iprobe``.
    """

    trace: TextTrace
    settings: Settings
    placement: list[int]
    network: NetworkModel
    hosts: HostModel

    def __post_init__(self) -> None:
        settings, placement, network = self.settings, self.placement, self.network
        self.protocol = settings.protocol
        self.clock = Clock(settings.network.precision_timing)
        network.attach(self.clock, settings)
        self.hosts.attach(self.clock, settings)
        self.messages = PointToPoint(placement, settings, network)
        self.communicators = Communicators(placement)
        self.polls = {"test": 1, "testany": 1, "probe": 1}
        self._fruitless_probes = 0
        self._schedules: dict[Hashable, Script] = {}
        #: For each rank, returns true if it waits for others or has finished.
        self.is_stuck: list[Callable[[], bool]] = []

    def note_poll(self, kind: str, *, success: bool) -> None:
        """Note how a test or a probe ended."""
        if success:
            self.polls[kind] = 1
        elif self.protocol.grow_injected_times or kind == "testany":
            self.polls[kind] += 1

    def nothing_will_come(self) -> bool:
        """True if all ranks wait for others or probe in vain; asked less often as this goes on."""
        self._fruitless_probes += 1
        if self._fruitless_probes & (self._fruitless_probes - 1) or self.network.in_progress:
            return False
        return all(is_stuck() for is_stuck in self.is_stuck)

    def schedule(
        self,
        rank: int,
        communicator: Communicator,
        write: Callable[[Script], None],
        call: Hashable = None,
    ) -> Script:
        """What a rank does in a collective, which `write` writes once for all that are equal."""
        group, number = communicator.group, communicator.number[rank]
        key = (call, communicator.context, number, group.surveyed_by(number))
        schedule = self._schedules.get(key) if call is not None else None
        if schedule is None:
            schedule = self._schedules[key] = group.script(self.settings, number)
            write(schedule)
        group.surveyed[number] = schedule.surveyed
        return schedule
