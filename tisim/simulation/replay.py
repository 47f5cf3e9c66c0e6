"""Replay a trace on a platform."""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import tisim
from tisim._core import Stop
from tisim.analysis.result import Result, title_of
from tisim.config import Config
from tisim.errors import InputError, MissingCoreError
from tisim.kernel.driver import Driver, Launcher, Progress
from tisim.kernel.report import check_collectives, check_deaths, check_progress, interruption
from tisim.kernel.steady import check_tolerance, not_skipped, skipped
from tisim.platform import Platform
from tisim.platform.deployment import Deployment
from tisim.simulation.jitter import check_seed_count, median_of, options, replay_concurrently
from tisim.simulation.jobs import TraceLike, core_trace, job_result, start_and_kill_times
from tisim.simulation.settings import Settings
from tisim.traces import Trace

if TYPE_CHECKING:
    from tisim.actions.registry import Registry
    from tisim.analysis.result_json import JitterDict
    from tisim.analysis.timeline.capture import EventCapture
    from tisim.models.network import NetworkModel
    from tisim.models.processors import HostModel
    from tisim.traces.text_program import TextTrace

_Path = str | os.PathLike[str]


class OutsideRunError(InputError):
    """The requested part of a timeline is outside the simulated time; `result` is complete."""

    def __init__(self, error: InputError, result: Result) -> None:
        super().__init__(error.message)
        self.result = result


def replay(
    trace: TraceLike | TextTrace,
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
    progress: Progress | None = None,
    event_log: bool = False,
    timeline: _Path | Sequence[_Path] = (),
    timeline_part: tuple[float, float] | None = None,
    registry: Registry | None = None,
    jitter: int | None = None,
    skip_steady: float | None = None,
    kernel: str | None = None,
    network_model: NetworkModel | None = None,
    host_model: HostModel | None = None,
    gpus: Launcher | None = None,
) -> Result:
    """Predict how long a traced run takes on a platform.

    Parameters
    ----------
    trace
        A `Trace`, or an argument of `Trace.open`: a directory, files, an index, an archive.
    platform
        Platform file in SimGrid's XML format.

        Or a `Platform`.
    deployment
        Deployment file (XML) with the host of each rank.

        Or a `Deployment`. By default the mapping is cyclic over the platform's hosts in their
        order.
    hosts
        Hosts to place ranks on round-robin, instead of a deployment file: a file with one host per
        line, or names.
    bandwidth
        What if: scale (x2) or set (100Gbps) the bandwidth of all links.
    latency
        What if: scale (x0.5) or set (1us) the latency of all links.
    speed
        What if: scale (x2) or set (3.2Gf) the speed of all cores.
    mapping
        What if: place ranks by a rule: block (consecutive ranks fill the cores of a host; block:4
        puts 4 on each), cyclic (one rank per host, round-robin) or random:SEED (cyclic over hosts
        in random order). Uses the hosts of --hosts or --deployment, if given.
    config
        Configuration option; takes precedence over the platform's.

        A `Config` or a mapping, such as ``{"smpi/coll-selector": "ompi"}``.
    ranks
        Number of ranks that the trace must have.
    progress
        Called periodically while the simulation runs.
    event_log
        Keep a log of all events on disk, for `Result.breakdown`, `Result.critical_path` and the
        other properties that need it.
    timeline
        Write a timeline. The suffix selects the format: .perfetto-trace (ui.perfetto.dev), .trace
        (Paje), .prv (Paraver), .parquet, .csv, .timed.csv (actions with durations), .tir (for
        tisim view).

        One file or several.
    timeline_part
        Begin and end, in seconds, of the part that timelines for Perfetto show; everything by
        default.
    registry
        User-defined actions and collective algorithms; by default the registry that `tisim.action`
        and `tisim.collective` fill.
    jitter
        Replay with N seeds of a small random jitter in start times and message sizes; report the
        median time and the range.

        The jitter is that of ``tisim/jitter-start`` and ``-size``, or 0.3 ms and 0.5 % if they
        are 0; seeds count from ``tisim/jitter-seed``. The result is the replay with the median
        time; `Result.jitter` has all times.
    skip_steady
        Skip iterations that repeat the previous ones; E is the relative tolerance between
        repetitions, such as 1e-6, and roughly the error of the result. Needs a packed trace.

        `Result.steady` says how many iterations were skipped, or why none were.
    kernel
        Simulation kernel: core (compiled; default) or simpy (readable Python; slow, text traces
        only).

        Without an installed core, simpy is the default (`tisim.models`).
    network_model, host_model
        Custom models (`tisim.models`), for the SimPy kernel.
    gpus
        The GPUs that ranks ``launch`` on: a `tisim.gpu.launched.LaunchedGraph`.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        If a file, an option or an action is invalid; the message gives the place and the remedy.
    SimulationError
        If the simulation cannot proceed: a deadlock, or ranks that call different collectives.
    ReplayInterrupted
        After Ctrl-C (a `KeyboardInterrupt`); the message reports the progress.

    Examples
    --------
    >>> result = tisim.replay("traces/ring.4", platform="platforms/graphene.xml")
    >>> round(result.simulated_time, 9)
    0.036659044
    """
    start = time.perf_counter()
    machine = platform if isinstance(platform, Platform) else Platform.load(platform)
    machine = machine.scaled(bandwidth=bandwidth, latency=latency, speed=speed)
    settings = Settings(machine, config, registry)
    kernel, notes = choose_kernel(kernel)
    if gpus is not None and (kernel == "simpy" or jitter is not None or skip_steady is not None):
        raise InputError(
            "ranks that launch a graph do not support jitter, skip_steady or the SimPy kernel"
        )
    if kernel == "simpy":
        if event_log or timeline or jitter is not None or skip_steady is not None:
            raise InputError(
                "the SimPy kernel does not support event logs, timelines, jitter and skip_steady; "
                "use --kernel core"
            )
        text = _text_of(trace, settings)
        _check_ranks(text.ranks, ranks, text.name)
        placements = resolve_deployment(machine, text.ranks, deployment, hosts, mapping)
        result = _replay_on_simpy(text, settings, placements, network_model, host_model)
        result.warnings += notes
        result.wall_time = time.perf_counter() - start
        return result
    if network_model is not None or host_model is not None:
        raise InputError('models of your own need kernel="simpy"')
    opened = _open_trace(trace, ranks)
    if skip_steady is not None:
        check_tolerance(skip_steady)
    placements = resolve_deployment(machine, opened.ranks, deployment, hosts, mapping)
    spread = None
    if jitter is not None:
        settings, spread = _median_settings(opened, settings, machine, placements, progress, jitter)
    logged = _capture(opened, settings, placements, event_log, timeline, timeline_part, gpus)
    with _discarded_on_error(logged) as capture:
        result = _simulate(opened, settings, placements, progress, capture, skip_steady, gpus)
    result.jitter = spread
    result.wall_time = time.perf_counter() - start
    if logged is not None and logged.errors:
        raise OutsideRunError(logged.errors[0], result)
    return result


def _text_of(trace: Trace | TextTrace | _Path | Sequence[_Path], settings: Settings) -> TextTrace:
    """Return the text of a trace, with the reading options of the configuration."""
    from tisim.traces.text_program import TextTrace

    if isinstance(trace, TextTrace):
        return trace
    null_is_any = settings.protocol.null_source == "any"
    if isinstance(trace, str | os.PathLike | Sequence):
        return TextTrace(trace, null_is_any=null_is_any)
    if trace.noise[0] != 0:
        raise InputError("the SimPy kernel does not support noise; use --kernel core")
    return TextTrace(trace.source, trace.dialect, null_is_any=null_is_any)


def _replay_on_simpy(
    trace: TextTrace,
    settings: Settings,
    placements: Deployment,
    network: NetworkModel | None,
    processors: HostModel | None,
) -> Result:
    """Replay a trace in Python; the models default to those of the configuration.

    Raises `InputError` if a model is not an instance of its class.
    """
    from tisim.models.kernel import simulate
    from tisim.models.network import NetworkModel
    from tisim.models.processors import HostModel

    for name, model, kind in (
        ("network_model", network, NetworkModel),
        ("host_model", processors, HostModel),
    ):
        if model is not None and not isinstance(model, kind):
            raise InputError(
                f"{name} must be an instance of tisim.models.{kind.__name__}, not {model!r}"
            )
    _check_readable_kernel(settings, placements)
    ranks = simulate(trace, settings, placements, network, processors)
    times = ("finish", "compute", "other")
    counts = ("actions", "bytes_sent", "messages_sent")
    columns = {n: memoryview(array("d", [getattr(rank, n) for rank in ranks])) for n in times}
    columns |= {n: memoryview(array("q", [getattr(rank, n) for rank in ranks])) for n in counts}
    return Result(
        columns,
        placements.hosts,
        trace=trace.name,
        platform=str(settings.platform.file),
        config=settings.config,
        warnings=settings.warnings,
        changes=placements.changes(settings.platform),
    )


def _check_readable_kernel(settings: Settings, placements: Deployment) -> None:
    """Raise an `InputError` if only the compiled core can simulate this."""
    reason = settings.unsteady_reason
    if reason is None and any(placement.kill_time is not None for placement in placements):
        reason = "the deployment kills ranks"
    if reason is None and settings.protocol.sources == "matched":
        reason = "receives from any source take the messages that they matched when recorded"
    if reason is None and settings.protocol.completions == "free":
        reason = "calls complete whichever requests finish first"
    if reason is None and settings.protocol.iprobe_cpu_usage < 1:
        reason = "smpi/iprobe-cpu-usage leaves part of a core to computations"
    if reason is None and settings.registry.actions:
        reason = "actions of your own are registered"
    if reason is not None:
        raise InputError(f"the SimPy kernel cannot simulate this ({reason}); use --kernel core")


def _median_settings(
    trace: Trace,
    settings: Settings,
    platform: Platform,
    placements: Deployment,
    progress: Progress | None,
    number: int,
) -> tuple[Settings, JitterDict]:
    """Return the settings of the seed with the median time, and the times of all seeds."""
    check_seed_count(number)
    protocol = settings.protocol
    seeded = []
    for seed in range(number):
        config = settings.config.merged(Config(options(protocol, seed)))
        seeded.append(Settings(platform, config, settings.registry))

    def simulated(with_seed: Settings) -> Callable[[Progress], float]:
        return lambda report: _simulate(trace, with_seed, placements, report, None).simulated_time

    # User-defined actions and algorithms may not be thread-safe.
    workers = 1 if settings.registry.modules() else number
    times = replay_concurrently([simulated(setup) for setup in seeded], progress, workers=workers)
    chosen = seeded[median_of(times)]
    spread: JitterDict = {
        "start": chosen.protocol.jitter_start,
        "size": chosen.protocol.jitter_size,
        "seeds": [setup.protocol.jitter_seed for setup in seeded],
        "times": times,
    }
    return chosen, spread


def _open_trace(trace: TraceLike | TextTrace, ranks: int | None) -> Trace:
    """Open the trace and check its number of ranks."""
    if not isinstance(trace, Trace | str | os.PathLike | Sequence):
        raise InputError('a TextTrace needs kernel="simpy"')
    opened = trace if isinstance(trace, Trace) else Trace.open(trace)
    _check_ranks(opened.ranks, ranks, str(opened.name))
    return opened


def _check_ranks(found: int, wanted: int | None, trace: str) -> None:
    if wanted is not None and found != wanted:
        raise InputError(
            f"is a trace of {found} ranks, not of the requested {wanted}; change that number or "
            "give another trace",
            file=trace,
        )


def choose_kernel(kernel: str | None = None) -> tuple[str, list[str]]:
    """Return the kernel, ``"core"`` or ``"simpy"``, and a note for the user on the choice.

    Raises `MissingCoreError` if the core is requested but not installed.
    """
    if kernel not in (None, "core", "simpy"):
        raise InputError(f"kernel must be core or simpy, not {kernel!r}")
    if hasattr(tisim._core, "VERIFIES"):
        return kernel or "core", []
    if kernel == "core":
        raise MissingCoreError
    if kernel == "simpy":
        return kernel, []
    return "simpy", [f"{MissingCoreError()}; this was simulated on the SimPy kernel, which is slow"]


def _capture(
    trace: Trace,
    settings: Settings,
    placements: Deployment,
    event_log: bool,
    timeline: _Path | Sequence[_Path],
    part: tuple[float, float] | None,
    gpus: Launcher | None,
) -> EventCapture | None:
    files = [timeline] if isinstance(timeline, (str, os.PathLike)) else list(timeline)
    if not event_log and not files:
        return None
    from tisim.analysis.timeline.capture import EventCapture

    platform = settings.platform
    changes = placements.changes(platform)
    return EventCapture(
        title_of(str(trace.name), str(platform.file), changes),
        settings,
        placements.host_indices(platform),
        keep=event_log,
        timelines=files,
        trace=str(trace.name),
        changes=changes,
        part=part,
        lanes=() if gpus is None else gpus.lanes,
    )


@contextmanager
def _discarded_on_error(capture: EventCapture | None) -> Iterator[EventCapture | None]:
    """Remove the files of a capture if the simulation fails."""
    try:
        yield capture
    except BaseException:
        if capture is not None:
            capture.discard()
        raise


def _simulate(
    trace: Trace,
    settings: Settings,
    placements: Deployment,
    progress: Progress | None,
    capture: EventCapture | None,
    skip_steady: float | None = None,
    gpus: Launcher | None = None,
) -> Result:
    driver = Driver(settings, progress)
    if capture is not None:
        driver.events = capture
        capture.start(driver.core)
    unsteady_reason = None
    if skip_steady is not None:
        unsteady_reason = _unsteady_reason(trace, settings, placements, capture)
        if unsteady_reason is None:
            driver.core.skip_steady(skip_steady)
    hosts = placements.host_indices(settings.platform)
    if gpus is not None:
        if start_and_kill_times(placements)[1]:
            raise InputError("ranks that launch a graph cannot be killed")
        gpus.start(driver, hosts, logs=capture is not None and capture.wants_lanes)
        driver.gpus = gpus
    job = driver.add_job(core_trace(trace, settings), hosts, *start_and_kill_times(placements))
    with _interruptible(driver):
        stop = driver.run()
        while stop == Stop.COMPLETION:
            driver.core.take_completions()
            stop = driver.run()
        if stop == Stop.NEED_ACTION:
            _execute_custom_actions(driver, job, settings)
    check_progress(driver)
    check_deaths(driver, job)
    check_collectives(driver.core, job)
    result = job_result(driver, job, trace, placements, settings)
    if capture is not None:
        if gpus is not None and capture.wants_lanes:
            capture.add_streams(gpus.streams(driver.core))
        result.event_log = capture.finish(driver.core, result.column("finish"))
        result.warnings += capture.warnings
    if skip_steady is not None:
        if unsteady_reason is None:
            matched = trace.core.has_matched_sources and settings.protocol.sources != "matched"
            result.steady = skipped(driver.core, skip_steady, has_matched_sources=matched)
        else:
            result.steady = not_skipped(skip_steady, unsteady_reason)
    return result


def _unsteady_reason(
    trace: Trace, settings: Settings, placements: Deployment, capture: EventCapture | None
) -> str | None:
    """Return a reason, known in advance, to simulate every iteration; None if there is none."""
    if capture is not None:
        return "all events are logged"
    if trace.noise[0] != 0:
        return "computation volumes have noise"
    if start_and_kill_times(placements)[1]:
        return "ranks are killed"
    return settings.unsteady_reason


def _execute_custom_actions(driver: Driver, job: int, settings: Settings) -> None:
    """Continue a job from its first custom action, which only SimPy can execute."""
    from tisim.simulation.environment import Environment

    env = Environment.of_driver(driver, settings.platform, Stop.NEED_ACTION)
    env.run(env.watch_job(job, lambda job: None))


@contextmanager
def _interruptible(driver: Driver) -> Iterator[None]:
    """Make Ctrl-C report the progress of the simulation."""
    try:
        yield
    except KeyboardInterrupt:
        raise interruption(driver.core, job=0) from None


def resolve_deployment(
    platform: Platform,
    ranks: int,
    deployment: Deployment | _Path | None = None,
    hosts: Sequence[str] | _Path | None = None,
    mapping: str | None = None,
) -> Deployment:
    """Return the placement of a replay's ranks; see `replay`."""
    if deployment is not None and hosts is not None:
        raise InputError("give --deployment or --hosts, not both")
    if hosts is not None:
        deployment = Deployment.of_hosts(hosts)
    elif deployment is not None and not isinstance(deployment, Deployment):
        deployment = Deployment.load(deployment)
    if mapping is not None:
        return _map_ranks(mapping, deployment, platform, ranks)
    if deployment is None:
        return Deployment.cyclic(platform, ranks)
    return deployment.for_ranks(ranks)


def _map_ranks(
    rule: str, deployment: Deployment | None, platform: Platform, ranks: int
) -> Deployment:
    """Return the deployment of a rule, on the hosts of the given deployment."""
    from tisim.platform.mapping import Mapping, is_rule

    if not is_rule(rule):
        raise InputError(
            f"--mapping must be block, cyclic or random:SEED, not {rule!r}; use --hosts for a host "
            "file, --deployment for a deployment"
        )
    found = Mapping.parse(rule, deployment)
    if found.is_random:
        raise InputError("--mapping random needs a seed, such as random:7")
    return found.place(platform, ranks, ())
