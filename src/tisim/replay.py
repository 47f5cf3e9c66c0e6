"""Replay a trace on a platform."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tisim._core import Stop
from tisim.actions.custom import registered
from tisim.config import Config
from tisim.errors import InputError
from tisim.formats import Trace
from tisim.kernel.driver import Driver, Progress
from tisim.kernel.failures import check_alive, killed
from tisim.kernel.report import check_progress, check_whole, interruption
from tisim.models.settings import Settings
from tisim.platform import Platform
from tisim.platform.deployment import Deployment
from tisim.result import Result

if TYPE_CHECKING:
    import simpy

    from tisim._core import RankResults
    from tisim.kernel.environment import Environment
    from tisim.timeline.capture import EventCapture

_Path = str | os.PathLike[str]


def replay(
    trace: Trace | _Path | Sequence[_Path],
    *,
    platform: Platform | _Path,
    deployment: Deployment | _Path | None = None,
    hosts: Sequence[str] | None = None,
    config: Config | Mapping[str, object] | None = None,
    ranks: int | None = None,
    progress: Progress | None = None,
    event_log: bool = False,
    timeline: _Path | Sequence[_Path] = (),
    record: bool | None = None,
) -> Result:
    """Predict how long the run that a trace was taken from takes on a platform.

    Parameters
    ----------
    trace
        A `Trace`, or what `Trace.open` takes: a directory, files, an index, an archive.
    platform
        A `Platform` or its file.
    deployment
        Which host each rank runs on: a `Deployment` or its XML file.
    hosts
        Instead of a deployment: names of hosts, used round-robin. With neither, the hosts of the
        platform in their order.
    config
        Options that win over those of the platform, such as ``{"smpi/coll-selector": "ompi"}``.
    ranks
        How many ranks the trace must have; any number when not given.
    progress
        Is called now and then while the simulation runs.
    event_log
        Whether to keep what happens, on disk, for `Result.breakdown`, `Result.critical_path` and
        the other properties that need it.
    timeline
        File, or files, that a timeline is written to; the suffix says how: `.perfetto-trace`,
        `.trace` (Paje), `.prv` (Paraver), `.parquet`, `.csv`, `.timed.csv`.
    record
        Deprecated spelling of `event_log`.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        When a file, an option or an action cannot be used; says where and what to do.
    SimulationError
        When the simulation cannot proceed: a deadlock, or ranks that call different collectives.
    ReplayInterrupted
        When Ctrl-C stopped it (a `KeyboardInterrupt`); says how far it was.

    Examples
    --------
    >>> result = tisim.replay("traces/ring.4", platform="platforms/graphene.xml")
    >>> round(result.simulated_time, 9)
    0.036659044
    """
    if record is not None:
        _warn_of_record()
        event_log = event_log or record
    start = time.perf_counter()
    opened = trace if isinstance(trace, Trace) else Trace.open(trace)
    if ranks is not None and opened.ranks != ranks:
        raise InputError(
            f"is a trace of {opened.ranks} ranks, not of {ranks} as asked for; change that number "
            "or name the other trace",
            file=opened.name,
        )
    machine = platform if isinstance(platform, Platform) else Platform.load(platform)
    settings = Settings(machine, config)
    placements = _placements(machine, deployment, hosts, opened.ranks)
    capture = _capture(opened, settings, placements, event_log, timeline)
    try:
        result = _simulate(opened, settings, placements, progress, capture)
    except BaseException:
        if capture is not None:
            capture.discard()
        raise
    result.wall_time = time.perf_counter() - start
    return result


def _warn_of_record() -> None:
    warnings.warn(
        "replay(record=True) is deprecated; write replay(event_log=True)",
        DeprecationWarning,
        stacklevel=3,
    )


def _capture(
    trace: Trace,
    settings: Settings,
    placements: Deployment,
    event_log: bool,
    timeline: _Path | Sequence[_Path],
) -> EventCapture | None:
    files = [timeline] if isinstance(timeline, (str, os.PathLike)) else list(timeline)
    if not event_log and not files:
        return None
    from tisim.timeline.capture import EventCapture

    title = f"{Path(trace.name).name} on {Path(settings.platform.file).name}"
    hosts = placements.host_indices(settings.platform)
    return EventCapture(title, settings, hosts, keep=event_log, timelines=files)


def _simulate(
    trace: Trace,
    settings: Settings,
    placements: Deployment,
    progress: Progress | None,
    capture: EventCapture | None,
) -> Result:
    if registered():  # only SimPy can carry out actions that are written in Python
        from tisim.kernel.environment import Environment

        env = Environment(settings.platform, settings.config, progress=progress)
        driver = env.driver
        _start_capture(driver, capture)
        with _interruptible(driver):
            result = cast("Result", env.run(start_replay(env, trace, placements)))
    else:
        driver = Driver(settings, progress)
        _start_capture(driver, capture)
        hosts = placements.host_indices(settings.platform)
        job = driver.add_job(_readable(trace, settings), hosts, **_lives(placements))
        with _interruptible(driver):
            while driver.run() == Stop.WAKE:
                driver.core.take_woken()
        check_progress(driver)
        check_alive(driver, job)
        check_whole(driver.core, job)
        result = _result(driver, job, trace, placements, settings)
    if capture is not None:
        result.event_log = capture.finish(driver.core, result.finish)
    return result


@contextmanager
def _interruptible(driver: Driver) -> Iterator[None]:
    """Let Ctrl-C say how far the simulation is."""
    try:
        yield
    except KeyboardInterrupt:
        raise interruption(driver.core, job=0) from None


def _start_capture(driver: Driver, capture: EventCapture | None) -> None:
    driver.events = capture
    if capture is not None:
        capture.start(driver.core)


def _readable(trace: Trace, settings: Settings) -> Any:
    """The core's trace, to be read as the configuration says."""
    return trace.core_with(
        mistaken_null_is_any=settings.protocol.null_source == "any",
        custom_actions=tuple(registered()),
        speedups=settings.speedups,
    )


def _lives(placements: Deployment) -> dict[str, Any]:
    """When ranks start and are killed, where the deployment says so.

    As in SimGrid, a rank that would be killed before it starts is not killed at all.
    """
    starts = [placement.start_time for placement in placements]
    return {
        "starts": starts if any(starts) else [],
        "kills": {
            rank: placement.kill_time
            for rank, placement in enumerate(placements)
            if placement.kill_time is not None and placement.kill_time > placement.start_time
        },
    }


def _result(
    driver: Driver,
    job: int,
    trace: Trace,
    placements: Deployment,
    settings: Settings,
    begin: float = 0.0,
) -> Result:
    core = driver.core
    notes = [*settings.warnings, *killed(driver, job)]
    if lost := core.lost_types(job):
        more = f" and {len(lost) - 1} more" if lost[1:] else ""
        notes.append(
            f"the trace of rank {lost[0]}{more} names types of unknown size (-1), which the tracer "
            "lost: their messages count as 0 bytes"
        )
    return Result(
        _columns(core.rank_results(job)),
        placements.hosts,
        start=begin,
        trace=str(trace.name),
        platform=str(settings.platform.file),
        config=settings.config.as_dict(),
        warnings=notes,
    )


def _columns(results: RankResults) -> dict[str, memoryview]:
    """The results of the ranks by name; no NumPy, which would cost every start its time."""
    names = ("finish", "compute", "other", "actions", "bytes_sent", "messages_sent")
    return {name: memoryview(getattr(results, name)) for name in names}


def _placements(
    platform: Platform,
    deployment: Deployment | _Path | None,
    hosts: Sequence[str] | None,
    ranks: int,
) -> Deployment:
    if deployment is not None and hosts is not None:
        raise InputError("give a deployment or hosts, not both")
    if hosts is not None:
        return Deployment.round_robin(hosts, ranks)
    if deployment is None:
        return Deployment.round_robin(platform, ranks)
    if not isinstance(deployment, Deployment):
        deployment = Deployment.load(deployment)
    return deployment.for_ranks(ranks)


def start_replay(
    env: Environment, trace: Any, deployment: Deployment | Sequence[str] | None = None
) -> simpy.Event:
    """Start a trace in an environment; see `tisim.kernel.Environment.replay`."""
    opened = trace if isinstance(trace, Trace) else Trace.open(trace)
    settings = env.settings
    assert isinstance(settings, Settings)
    if deployment is None:
        deployment = Deployment.round_robin(settings.platform, opened.ranks)
    elif not isinstance(deployment, Deployment):
        deployment = Deployment.round_robin(deployment, opened.ranks)
    placements = deployment.for_ranks(opened.ranks)
    begin, wall = env.now, time.perf_counter()

    def result(job: int) -> Result:
        made = _result(env.driver, job, opened, placements, settings, begin)
        made.wall_time = time.perf_counter() - wall
        return made

    hosts = placements.host_indices(settings.platform)
    return env.start_job(_readable(opened, settings), hosts, result, **_lives(placements))
