"""The kernel that can be read: a replay in Python on SimPy, without the compiled core.

It is the executable specification of a replay, and slow. Platforms, configurations and schedules of
collectives are those of the core; whatever reads the clock, shares bandwidth or matches messages is
written here a second time, in `tisim.models.clock`, `processors`, `network`, `sharing`, `mpi` and
`rank`. Tests compare both (ADR 78).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from tisim.actions.collectives import communicators
from tisim.actions.script import Script
from tisim.actions.vocabulary import new_script
from tisim.errors import InputError, SimulationError
from tisim.models.clock import Clock
from tisim.models.mpi import Begun, Communicator, PointToPoint
from tisim.models.network import NetworkModel
from tisim.models.processors import HostModel
from tisim.models.program import Action, CollectiveCall, TextTrace
from tisim.models.rank import PollingCosts, Rank

if TYPE_CHECKING:
    from tisim import _core
    from tisim.models.settings import Settings
    from tisim.platform.deployment import Deployment


class World:
    """The ranks of a trace and what they share.

    Parameters
    ----------
    trace
        What the ranks do.
    settings
        Platform, configuration and algorithms.
    hosts
        The host of each rank, by its index.
    network, processors
        The models.
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
        self.ranks = [Rank(self, number, host) for number, host in enumerate(hosts)]

    def run(self, starts: Sequence[float] = ()) -> None:
        """Simulate until all ranks have finished.

        Raises
        ------
        SimulationError
            When ranks wait for what will never happen.
        """
        for rank in self.ranks:
            delay = starts[rank.number] if starts else 0.0
            self.clock.env.process(rank.run(self.trace.actions(rank.number), delay))
        self.clock.run(self.hosts, self.network)
        blocked = [rank for rank in self.ranks if not rank.is_finished]
        if blocked:
            number = f"{len(blocked)} rank{'s wait' if blocked[1:] else ' waits'}"
            lines = [f"deadlock at {self.clock.now:.9g} s: {number} for what will never happen"]
            for rank in blocked[:20]:
                file, line = self.trace.place(rank.number, rank.action.line)
                lines.append(f"  {file}:{line}: rank {rank.number}: in {rank.action.name}")
            raise SimulationError("\n".join(lines))

    def nothing_will_come(self) -> bool:
        """Whether all ranks wait for others or probe in vain; asked less often as this goes on."""
        self._fruitless_probes += 1
        if self._fruitless_probes & (self._fruitless_probes - 1) or self.network.in_progress:
            return False
        return all(rank.is_stuck for rank in self.ranks)

    # Communicators

    def _communicator(self, members: list[int]) -> Communicator:
        self._contexts += 2
        return Communicator(members, self._contexts, [self._placement[rank] for rank in members])

    def split(self, parent: Communicator, begun: Begun) -> list[list[int]]:
        """Make a communicator for each color, in the order of the keys, then of the parent.

        Returns
        -------
        list
            For each communicator the numbers of its ranks in the parent, by their new numbers;
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
        before = communicator.surveyed.get(number, frozenset())
        key = (action.name, action.words, action.double, communicator.context, number, before)
        schedule = self._schedules.get(key)
        if schedule is None:
            try:
                schedule = self._schedules[key] = self._settings.expand(
                    cast("_core.CollectiveCall", call),
                    rank=number,
                    placement=communicator.hosts,
                    order=communicator.order,
                    surveyed=before,
                )
            except InputError as error:
                file, line = self.trace.place(rank, action.line)
                raise InputError(error.message, file=file, line=line) from None
        communicator.surveyed[number] = schedule.surveyed
        return schedule

    def _script(self, communicator: Communicator, rank: int) -> Script:
        number = communicator.number[rank]
        return new_script(
            number,
            len(communicator.members),
            communicator.hosts,
            self._settings,
            communicator.order,
            communicator.surveyed.get(number, frozenset()),
        )

    def gather_colors(self, parent: Communicator, rank: int) -> Script:
        """How rank 0 of a communicator learns how it is split."""
        script = self._script(parent, rank)
        communicators.gather_colors(script)
        return script

    def tell_groups(
        self, parent: Communicator, rank: int, groups: Sequence[Sequence[int]], *, joins: bool
    ) -> Script:
        """How the ranks of a communicator learn their new ones; on rank 0 after `gather_colors`."""
        script = self._script(parent, rank)
        if script.rank == 0:
            communicators.tell_groups(script, groups)
        else:
            communicators.comm_split(script, joins, groups)
        return script

    def agree_on_number(self, made: Communicator, rank: int) -> Script:
        """How the ranks of a new communicator agree on its number."""
        script = self._script(made, rank)
        communicators.agree_on_number(script)
        made.surveyed[script.rank] = script.surveyed
        return script

    # Results

    def columns(self) -> dict[str, array[float] | array[int]]:
        """What a `tisim.Result` says of each rank."""
        times = ("finish", "compute", "other")
        counts = ("actions", "bytes_sent", "messages_sent")
        return {
            **{name: array("d", [getattr(rank, name) for rank in self.ranks]) for name in times},
            **{name: array("q", [getattr(rank, name) for rank in self.ranks]) for name in counts},
        }


def check_supported(settings: Settings, placements: Deployment) -> None:
    """Refuse what only the compiled core simulates.

    Raises
    ------
    InputError
        With one sentence.
    """
    reason = settings.unsteady
    if reason is None and any(placement.kill_time is not None for placement in placements):
        reason = "the deployment kills ranks"
    if reason is None and settings.protocol.sources == "matched":
        reason = "receives from any source take the messages that they matched when recorded"
    if reason is None and settings.registry.actions:
        reason = "actions of your own are registered"
    if reason is not None:
        raise InputError(f"the SimPy kernel cannot simulate this ({reason}); use --kernel core")


def simulate(
    trace: TextTrace,
    settings: Settings,
    placements: Deployment,
    network: NetworkModel | None = None,
    processors: HostModel | None = None,
) -> World:
    """Simulate a trace; what is not given is the model of the configuration."""
    check_supported(settings, placements)
    hosts = placements.host_indices(settings.platform)
    world = World(trace, settings, hosts, network or NetworkModel(), processors or HostModel())
    starts = [placement.start_time for placement in placements]
    world.run(starts if any(starts) else ())
    return world
