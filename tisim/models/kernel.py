"""The readable kernel: a replay in Python on SimPy, without the compiled core.

It is the executable specification of a replay, and slow. Platforms, configurations and schedules of
collectives are those of the core; all code that reads the clock, shares bandwidth or matches
messages is written a second time here: `tisim.models.clock` (agenda), `processors`, `network` and
`sharing` (models), `messages`, `communicators` and `rank` (MPI). Tests compare both (ADR 78).

Everything happens at *instants* (ADR 12). At each of them

1. dated activities end: computations, sleeps and latencies less than `precision` apart end
   together, the later ones early; then transfers, in the order in which they started;
2. every woken process acts until it blocks, in the order of waking (SimPy's own order);
3. changed activities are dated again: sleeps, computations, then transfers, whose links are shared
   once for the whole instant.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import simpy

from tisim.errors import SimulationError, TisimError
from tisim.kernel.report import deadlock
from tisim.models.network import NetworkModel
from tisim.models.processors import HostModel
from tisim.models.rank import Rank, World

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
    """Simulate a trace; the models default to those of the configuration.

    Raises an `InputError` if the trace is invalid, or needs a feature that only the core has.
    Raises a `SimulationError` if ranks wait for events that never happen.
    """
    hosts = list(placements.host_indices(settings.platform))
    world = World(trace, settings, hosts, network or NetworkModel(), processors or HostModel())
    env = world.clock.env
    for rank, placement in zip(world.ranks, placements, strict=True):
        env.process(rank.run(trace.actions(rank.number), placement.start_time))
    env.process(_instants(world))
    try:
        env.run()
    except TisimError as error:
        # SimPy raises a copy of a process's exception, without the place in the trace.
        original = error.__cause__
        raise (original if isinstance(original, TisimError) else error) from None
    blocked = [rank for rank in world.ranks if not rank.is_finished]
    if blocked:
        lines = [deadlock(world.clock.now, len(blocked))]
        for rank in blocked[:20]:
            file, line = trace.place(rank.number, rank.action.line)
            name = rank.action.name.removesuffix("_recorded")
            lines.append(f"  {file}:{line}: rank {rank.number}: in {name}")
        raise SimulationError("\n".join(lines))
    return world.ranks


def _instants(world: World) -> Generator[simpy.Event, None, None]:
    """Move from instant to instant until nothing more can happen."""
    clock, env = world.clock, world.clock.env
    while True:
        while env.peek() <= env.now:  # some process has yet to act
            yield env.timeout(0)
        clock.date_sleeps()
        world.hosts.settle()
        world.network.settle()
        date = min(clock.next_end(), world.network.next_end())
        if date == float("inf"):
            return
        yield env.timeout(max(date - env.now, 0.0))
        clock.now = max(clock.now, date)
        clock.end()
        for done in world.network.end():
            done()
