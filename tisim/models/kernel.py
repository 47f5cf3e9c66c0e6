"""The kernel that can be read: a replay in Python on SimPy, without the compiled core.

It is the executable specification of a replay, and slow. Platforms, configurations and schedules of
collectives are those of the core; whatever reads the clock, shares bandwidth or matches messages is
written here a second time: `tisim.models.clock` (instants), `processors`, `network` and `sharing`
(models), `messages`, `communicators` and `rank` (MPI). Tests compare both (ADR 78).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from tisim.errors import SimulationError
from tisim.kernel.report import deadlock
from tisim.models.clock import Clock
from tisim.models.communicators import Communicator, Communicators
from tisim.models.messages import PointToPoint
from tisim.models.network import NetworkModel
from tisim.models.processors import HostModel
from tisim.models.rank import Rank

if TYPE_CHECKING:
    from tisim.actions.script import Script
    from tisim.platform.deployment import Deployment
    from tisim.simulation.settings import Settings
    from tisim.traces.text_program import TextTrace


class World:
    """The ranks of a trace and what they share: clock, models, messages, communicators.

    `placement` is the host of each rank, by its index. A test takes ``smpi/test`` times its entry
    in `polls`: 1 plus the tests, of all ranks, that have failed since one succeeded
    (``smpi/grow-injected-times``); so does a probe, which computes for ``smpi/iprobe``.
    """

    def __init__(
        self,
        trace: TextTrace,
        settings: Settings,
        placement: list[int],
        network: NetworkModel,
        hosts: HostModel,
    ) -> None:
        self.trace, self.settings, self.protocol = trace, settings, settings.protocol
        self.clock = Clock(settings.network.precision_timing)
        self.network, self.hosts = network, hosts
        network.attach(self.clock, settings)
        hosts.attach(self.clock, settings)
        self.messages = PointToPoint(placement, settings, network)
        self.communicators = Communicators(placement)
        self.polls = {"test": 1, "testany": 1, "probe": 1}
        self._fruitless_probes = 0
        self._schedules: dict[Hashable, Script] = {}
        self.ranks = [Rank(self, number, host) for number, host in enumerate(placement)]

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
        return all(rank.is_stuck() for rank in self.ranks)

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


def simulate(
    trace: TextTrace,
    settings: Settings,
    placements: Deployment,
    network: NetworkModel | None = None,
    processors: HostModel | None = None,
) -> list[Rank]:
    """Simulate a trace; what is not given is the model of the configuration.

    Raises an `InputError` when the trace is wrong, or needs what only the core has. Raises a
    `SimulationError` when ranks wait for what will never happen.
    """
    hosts = list(placements.host_indices(settings.platform))
    world = World(trace, settings, hosts, network or NetworkModel(), processors or HostModel())
    for rank, placement in zip(world.ranks, placements, strict=True):
        world.clock.env.process(rank.run(trace.actions(rank.number), placement.start_time))
    world.clock.run(world.hosts, world.network)
    blocked = [rank for rank in world.ranks if not rank.is_finished]
    if blocked:
        lines = [deadlock(world.clock.now, len(blocked))]
        for rank in blocked[:20]:
            file, line = trace.place(rank.number, rank.action.line)
            name = rank.action.name.removesuffix("_recorded")
            lines.append(f"  {file}:{line}: rank {rank.number}: in {name}")
        raise SimulationError("\n".join(lines))
    return world.ranks
