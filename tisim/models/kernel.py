"""The kernel that can be read: a replay in Python on SimPy, without the compiled core.

It is the executable specification of a replay, and slow. Platforms, configurations and schedules of
collectives are those of the core; whatever reads the clock, shares bandwidth or matches messages is
written here a second time: `tisim.models.clock` (instants), `processors`, `network` and `sharing`
(models), `messages`, `communicators` and `rank` (MPI). Tests compare both (ADR 78).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim.errors import SimulationError
from tisim.kernel.report import deadlock
from tisim.models.network import NetworkModel
from tisim.models.processors import HostModel
from tisim.models.rank import Rank
from tisim.models.world import World

if TYPE_CHECKING:
    from tisim.platform.deployment import Deployment
    from tisim.simulation.settings import Settings
    from tisim.traces.text_program import TextTrace


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
    ranks = [Rank(world, number, host) for number, host in enumerate(hosts)]
    world.is_stuck = [rank.is_stuck for rank in ranks]
    for rank, placement in zip(ranks, placements, strict=True):
        world.clock.env.process(rank.run(trace.actions(rank.number), placement.start_time))
    world.clock.run(world.hosts.settle, world.network)
    blocked = [rank for rank in ranks if not rank.is_finished]
    if blocked:
        lines = [deadlock(world.clock.now, len(blocked))]
        for rank in blocked[:20]:
            file, line = trace.place(rank.number, rank.action.line)
            name = rank.action.name.removesuffix("_recorded")
            lines.append(f"  {file}:{line}: rank {rank.number}: in {name}")
        raise SimulationError("\n".join(lines))
    return ranks
