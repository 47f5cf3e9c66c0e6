"""Traces as jobs of a simulation: their start and their results."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tisim.analysis.result import Result
from tisim.kernel.file_sums import file_sums
from tisim.kernel.report import kill_notes
from tisim.platform.deployment import Deployment
from tisim.simulation.settings import Settings
from tisim.traces import Trace

if TYPE_CHECKING:
    import simpy

    from tisim._core import TraceSet
    from tisim.kernel.core_environment import CoreEnvironment
    from tisim.kernel.driver import Driver

_Path = str | os.PathLike[str]
#: A trace, or an argument of `tisim.Trace.open`.
TraceLike = Trace | _Path | Sequence[_Path]


def core_trace(trace: Trace, settings: Settings) -> TraceSet:
    """Return the core's trace, with the reading options of the configuration."""
    core: TraceSet = trace.core_with(
        mistaken_null_is_any=settings.protocol.null_source == "any",
        sources_are_matched=settings.protocol.sources == "matched",
        completions_are_free=settings.protocol.completions == "free",
        is_posix_layer=settings.protocol.io_layer == "posix",
        custom_actions=tuple(settings.registry.actions),
        speedups=settings.speedups,
        volume_factors=_volume_factors(trace, settings),
    )
    return core


def _volume_factors(trace: Trace, settings: Settings) -> Mapping[float, float]:
    """Random factors for the volumes of an extrapolated trace, if they are drawn."""
    seed = settings.cpu.volume_seed
    made = trace.extrapolated if seed else None
    return {} if made is None else made.factors(seed)


def start_and_kill_times(placements: Deployment) -> tuple[Sequence[float], Mapping[int, float]]:
    """Return the deployment's start times of ranks, and their kill times by rank.

    As in SimGrid, a rank that would be killed before it starts is not killed at all.
    """
    starts = [placement.start_time for placement in placements]
    kills = {
        rank: placement.kill_time
        for rank, placement in enumerate(placements)
        if placement.kill_time is not None and placement.kill_time > placement.start_time
    }
    return (starts if any(starts) else []), kills


def job_result(
    driver: Driver,
    job: int,
    trace: Trace,
    placements: Deployment,
    settings: Settings,
    begin: float = 0.0,
) -> Result:
    """Return the result of a finished job, which began at `begin` (seconds)."""
    core = driver.core
    notes = [*settings.warnings, *_precision_notes(trace), *kill_notes(driver, job)]
    if lost := core.lost_types(job):
        more = f" and {len(lost) - 1} more" if lost[1:] else ""
        notes.append(
            f"the trace of rank {lost[0]}{more} names types of unknown size (-1), which the tracer "
            "lost: their messages count as 0 bytes"
        )
    result = Result(
        core.rank_results(job),
        placements.hosts,
        start=begin,
        trace=str(trace.name),
        platform=str(settings.platform.file),
        config=settings.config,
        warnings=notes,
        changes=placements.changes(settings.platform),
    )
    result.io = file_sums(core, job, settings.server_names())
    return result


def start_replay(
    env: CoreEnvironment, trace: TraceLike, deployment: Deployment | Sequence[str] | None = None
) -> simpy.Event:
    """Start a trace in an environment; see `tisim.kernel.Environment.replay`."""
    opened = trace if isinstance(trace, Trace) else Trace.open(trace)
    settings = env.settings
    if deployment is None:
        deployment = Deployment.cyclic(settings.platform, opened.ranks)
    elif not isinstance(deployment, Deployment):
        deployment = Deployment.cyclic(deployment, opened.ranks)
    placements = deployment.for_ranks(opened.ranks)
    begin, wall = env.now, time.perf_counter()

    def result(job: int) -> Result:
        made = job_result(env.driver, job, opened, placements, settings, begin)
        made.wall_time = time.perf_counter() - wall
        return made

    hosts = placements.host_indices(settings.platform)
    return env.start_job(
        core_trace(opened, settings), hosts, result, *start_and_kill_times(placements)
    )


def _precision_notes(trace: Trace) -> list[str]:
    """Return notes on a trace that was extrapolated, or packed with less precise volumes."""
    level = trace.precision
    made = trace.extrapolated
    notes = [] if made is None else [f"{trace.name} is {made.text()}"]
    if level == "exact":
        return notes
    if level == "histogram":
        return [
            *notes,
            f"{trace.name} contains only histograms of computation volumes; volumes are drawn from "
            "them",
        ]
    kept = "as the means of their call sites" if level == "mean" else f"to within {level} of each"
    return [*notes, f"{trace.name} stores computation volumes {kept}"]
