"""Simulates the scenarios of a sweep."""

from __future__ import annotations

import importlib
import pickle
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, TypeAlias, cast

from tisim.config import Config
from tisim.studies.sweep.noise import compute_seed, with_noise
from tisim.studies.sweep.scenario import Change, Inputs, Job, Outcome, failed

if TYPE_CHECKING:
    from tisim.analysis.result import Result
    from tisim.kernel.driver import Progress
    from tisim.platform import Platform
    from tisim.traces import Trace

# Which platform, with which changes, with which random numbers.
_PlatformKey: TypeAlias = tuple[int, tuple[Change, ...], tuple[int, ...]]
# Changed platforms that are kept for the next scenarios.
_KEPT_PLATFORMS = 4


class Worker:
    """Simulates scenarios; opens each trace once, however many scenarios need it.

    Any number of threads may use it.

    Parameters
    ----------
    inputs
        What the scenarios share.
    progress
        Is called now and then while a simulation runs.
    """

    def __init__(self, inputs: Inputs, progress: Progress | None = None) -> None:
        self._inputs = inputs
        self._progress = progress
        self._lock = threading.Lock()
        self._traces: dict[int, Trace] = {}
        self._platforms: dict[int, Platform] = {}
        self._changed: OrderedDict[_PlatformKey, Platform] = OrderedDict()
        for name in inputs.modules:
            importlib.import_module(name)

    def run(self, job: Job) -> Outcome:
        """Simulate one scenario; an error becomes part of the outcome."""
        start = time.perf_counter()
        if job.failure is not None:
            outcome: Outcome = {"error": job.failure}
        else:
            try:
                outcome = _outcome(self._replay(job))
            except Exception as error:
                outcome = failed(error)
        outcome["wall_time"] = time.perf_counter() - start
        return outcome

    def _replay(self, job: Job) -> Result:
        from tisim.simulation.replay import replay

        with self._lock:
            trace = self._trace(job.trace)
            platform = self._platform(job)
        if job.compute_noise != 0:
            variation = cast("float", job.compute_noise)  # it says what is wrong with a text
            trace = trace.with_noise(variation, seed=compute_seed(job.seed))
        mapping = self._inputs.mappings[job.mapping]
        return replay(
            trace,
            platform=platform,
            deployment=mapping.place(platform, trace.ranks, job.seed),
            config=self._inputs.config.merged(Config(job.options)),
            progress=self._progress,
            registry=self._inputs.registry,
        )

    def _trace(self, index: int) -> Trace:
        if index not in self._traces:
            from tisim.traces import Trace

            source = self._inputs.traces[index]
            trace = Trace.open(source.files, ranks=source.ranks, dialect=source.dialect)
            variation, seed = source.noise
            self._traces[index] = trace.with_noise(variation, seed=seed)
        return self._traces[index]

    def _platform(self, job: Job) -> Platform:
        if job.platform not in self._platforms:
            self._platforms[job.platform] = pickle.loads(self._inputs.platforms[job.platform])
        platform = self._platforms[job.platform]
        if not job.changes:
            return platform
        key = (job.platform, job.changes, job.seed)
        if key in self._changed:
            self._changed.move_to_end(key)
            return self._changed[key]
        for change in job.changes:
            platform = changed(platform, change, job.seed)
        self._changed[key] = platform
        if len(self._changed) > _KEPT_PLATFORMS:
            self._changed.popitem(last=False)
        return platform


def changed(platform: Platform, change: Change, seed: tuple[int, ...]) -> Platform:
    """A copy of a platform with one change."""
    quantity, noisy, _ = change.quantity.partition("_noise")
    if noisy:
        return with_noise(platform, quantity, change.pattern, change.value, seed)
    match quantity:
        case "speed":
            return platform.scaled(hosts=change.pattern, speed=change.value)
        case "cores":
            return platform.scaled(hosts=change.pattern, cores=cast("int", change.value))
        case "bandwidth":
            return platform.scaled(links=change.pattern, bandwidth=change.value)
        case "latency":
            return platform.scaled(links=change.pattern, latency=change.value)
    return platform.scaled(links=change.pattern, sharing=cast("str", change.value))


def _outcome(result: Result) -> Outcome:
    return {
        "simulated_time": result.simulated_time,
        "compute_mean": float(result.compute.mean()),
        "compute_max": float(result.compute.max()),
        "communication_mean": float(result.communication.mean()),
        "communication_max": float(result.communication.max()),
        "ranks": len(result.finish),
        "actions": result.actions,
        "bytes_sent": int(result.bytes_sent.sum()),
        "messages_sent": int(result.messages_sent.sum()),
        "warnings": "; ".join(result.warnings) or None,
    }
