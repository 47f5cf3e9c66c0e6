"""Replay of GOAL schedules, LogGOPSim's input, on a platform."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tisim import _core
from tisim._core import Stop
from tisim.config import Config
from tisim.errors import InputError, SimulationError
from tisim.kernel.driver import Driver
from tisim.platform import Platform
from tisim.simulation.replay import resolve_deployment
from tisim.simulation.settings import Settings
from tisim.traces.goal import read_goal

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tisim.platform.deployment import Deployment

_Path = str | os.PathLike[str]
# Events between two progress reports and checks for Ctrl-C.
_EVENTS = 1 << 16
# Maximum number of operations that a deadlock message lists.
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class GoalResult:
    """End times of the ranks of a schedule.

    Attributes
    ----------
    file
        The schedule.
    ends
        End time of each rank, in seconds.
    hosts
        Host of each rank.
    operations, messages
        Number of operations and of messages.
    unexpected
        Number of messages that no rank receives.
    """

    file: str
    ends: npt.NDArray[np.float64]
    hosts: Sequence[str]
    operations: int
    messages: int
    unexpected: int

    @property
    def simulated_time(self) -> float:
        """Seconds until the last rank has ended."""
        return float(max(self.ends))


def replay_goal(
    path: _Path,
    *,
    platform: Platform | _Path,
    deployment: Deployment | _Path | None = None,
    hosts: Sequence[str] | _Path | None = None,
    bandwidth: str | None = None,
    latency: str | None = None,
    speed: str | None = None,
    mapping: str | None = None,
    config: Config | Mapping[str, object] | None = None,
    ranks: int | None = None,
    progress: Callable[[float, int, float], None] | None = None,
) -> GoalResult:
    """Predict when the ranks of a GOAL schedule end on a platform.

    Computation times (nanoseconds) refer to the platform's hosts; `speed` scales them. The other
    parameters are those of `tisim.replay`.

    Raises
    ------
    InputError
        If a file or an option is invalid.
    SimulationError
        If operations wait for one another, or for messages that are never sent.
    """
    schedule = read_goal(path)
    if ranks not in (None, schedule.ranks):
        raise InputError(f"has {schedule.ranks} ranks, not the requested {ranks}", file=path)
    given = platform if isinstance(platform, Platform) else Platform.load(platform)
    machine = given.scaled(bandwidth=bandwidth, latency=latency, speed=speed)
    settings = Settings(machine, config)
    places = resolve_deployment(machine, schedule.ranks, deployment, hosts, mapping)
    seconds = [1e-9 * given.host(name).speed / machine.host(name).speed for name in places.hosts]
    driver = Driver(settings)
    indices = places.host_indices(machine)
    run = _core.GoalRun(schedule, driver.core, indices, seconds, settings.model)
    while (stop := run.run(_EVENTS)) in (Stop.PAUSE, Stop.NEED_ROUTE):
        if stop == Stop.NEED_ROUTE:
            driver.add_route(*driver.core.missing_route())
        elif progress is not None:
            progress(run.now, run.done, run.done / max(1, schedule.operations))
    _check_end(run, stop, path)
    return GoalResult(
        str(path), run.ends(), places.hosts, schedule.operations, run.messages, run.unexpected
    )


def check_goal(path: _Path) -> tuple[_core.GoalSchedule, int]:
    """Read a schedule and check that it ends; returns it and its number of unreceived messages.

    Messages take no time. Raises `InputError` and `SimulationError` as `replay_goal` does.
    """
    schedule = read_goal(path)
    run = _core.GoalRun(schedule, None, [0] * schedule.ranks, [1e-9] * schedule.ranks, None)
    while (stop := run.run(_EVENTS)) == Stop.PAUSE:
        pass
    _check_end(run, stop, path)
    return schedule, run.unexpected


def _check_end(run: _core.GoalRun, stop: Stop, path: _Path) -> None:
    if stop == Stop.DONE:
        return
    standing = run.pending_operations(_SHOWN)
    lines = [
        f"{path}: deadlock at {run.now:.6g} s; operations wait for messages that are never sent or "
        "received, or for one another:"
    ]
    for rank, number, line, has_begun in standing:
        place = f"line {line}" if line else f"operation {number}"
        what = (
            "has started and waits for its message" if has_begun else "waits for other operations"
        )
        lines.append(f"  rank {rank}, {place}: {what}")
    if len(standing) == _SHOWN:
        lines.append("  and others")
    raise SimulationError("\n".join(lines))
