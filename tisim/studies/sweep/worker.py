"""Simulate the scenarios of a sweep.

Run as a program, ``python -m tisim.studies.sweep.worker DESCRIPTOR``, it takes jobs from a
connection and returns outcomes. It is not a process of `multiprocessing`, which would run the
user's script again.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import pickle
import sys
import threading
import time
from collections.abc import Sequence
from functools import lru_cache
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, cast

import numpy as np

from tisim.config import Config
from tisim.errors import InputError, TisimError
from tisim.platform import Platform
from tisim.platform.profiles import BANDWIDTH
from tisim.platform.scaling import Change, matching
from tisim.studies.sweep.scenario import Answer, Inputs, Job, Message, Outcome, failed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tisim.analysis.result import Result
    from tisim.kernel.driver import Progress
    from tisim.platform.profiles import ResourceProfile
    from tisim.traces import Trace


# A speed is multiplied by a factor with a log-normal distribution of mean 1 and coefficient of
# variation v: ``exp(s z - s**2 / 2)`` with ``s**2 = log(1 + v**2)`` and z from the standard normal
# distribution. Each host and link has its own z, which depends on the seed but not on v, so that
# scenarios with the same seed differ only in the varied values.

_SPEED_STREAM, _BANDWIDTH_STREAM, _COMPUTE_STREAM = 0, 1, 2


def compute_seed(seed: Sequence[int]) -> int:
    """Return the 64-bit seed of the noise on compute volumes (`tisim.Trace.with_noise`)."""
    sequence = np.random.SeedSequence([*seed, _COMPUTE_STREAM])
    return int(sequence.generate_state(1, np.uint64)[0])


def with_noise(
    platform: Platform, quantity: str, pattern: str, variation: object, seed: Sequence[int]
) -> Platform:
    """Return a copy of a platform with random variability of its speeds.

    `quantity` is ``"speed"`` of hosts or ``"bandwidth"`` of links, `pattern` as for
    `Platform.scaled`, `variation` the standard deviation divided by the mean; `seed` determines all
    factors. Raises `InputError` if the variation is negative or not a number, or nothing matches
    the pattern.
    """
    if isinstance(variation, bool) or not isinstance(variation, int | float):
        raise InputError(f"{quantity}_noise must be a coefficient of variation, not {variation!r}")
    if not 0 <= variation < float("inf"):
        raise InputError(f"{quantity}_noise must not be negative, not {variation!r}")
    numbers = platform.resources
    chosen = matching(platform.topology, quantity, pattern)
    if quantity == "speed":
        factors = _factors(chosen, variation, [*seed, _SPEED_STREAM])
        changed = numbers.replaced(host_speed=numbers.host_speed * factors)
        events = platform.profiles  # fractions of a host's speed
    else:
        factors = _factors(chosen, variation, [*seed, _BANDWIDTH_STREAM])
        changed = numbers.replaced(link_bandwidth=numbers.link_bandwidth * factors)
        events = tuple(_changed_profile(entry, factors) for entry in platform.profiles)
    return platform.with_numbers(changed, events)


def _factors(
    chosen: NDArray[np.bool_], variation: float, entropy: Sequence[int]
) -> NDArray[np.float64]:
    """Return a factor for each host or link: 1 where not `chosen`; shape as `chosen`."""
    spread = np.sqrt(np.log1p(variation**2))
    normal = np.random.default_rng(list(entropy)).standard_normal(len(chosen))
    factors: NDArray[np.float64] = np.where(chosen, np.exp(spread * normal - spread**2 / 2), 1.0)
    return factors


def _changed_profile(entry: ResourceProfile, factors: NDArray[np.float64]) -> ResourceProfile:
    if not (entry.is_link and entry.what == BANDWIDTH):
        return entry
    factor = float(factors[entry.index])
    values = tuple(value * factor for value in entry.profile.values)
    return dataclasses.replace(entry, profile=dataclasses.replace(entry.profile, values=values))


# Number of changed platforms that are cached for the next scenarios.
_KEPT_PLATFORMS = 4


class Worker:
    """Simulates scenarios; opens each trace once, for any number of scenarios.

    Thread-safe. `progress` is called from time to time during a simulation.
    """

    def __init__(self, inputs: Inputs, progress: Progress | None = None) -> None:
        self._inputs = inputs
        self._progress = progress
        self._lock = threading.Lock()
        self._traces: dict[int, Trace] = {}
        self._platforms: dict[int, Platform] = {}
        # They are compiled, which the cache saves for the next scenarios.
        self._changed = lru_cache(_KEPT_PLATFORMS)(self._change)
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
            variation = cast("float", job.compute_noise)  # with_noise rejects a text
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
        if job.changes:
            return self._changed(job.platform, job.changes, job.seed)
        return self._platforms[job.platform]

    def _change(self, index: int, changes: Sequence[Change], seed: tuple[int, ...]) -> Platform:
        platform = self._platforms[index]
        for change in changes:
            platform = changed(platform, change, seed)
        return platform


def changed(platform: Platform, change: Change, seed: tuple[int, ...]) -> Platform:
    """Return a copy of a platform with one change."""
    quantity, noisy, _ = change.quantity.partition("_noise")
    if noisy:
        return with_noise(platform, quantity, str(change.pattern), change.value, seed)
    return platform.changed(change)


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


def main(descriptor: int) -> None:
    """Serve until the connection is closed.

    The first message is the `Inputs`, which is answered by None or an error; each further one is a
    number and a `Job`, which is answered by the number and the outcome.
    """
    parent = os.getppid()

    def end_with_parent(simulated_time: float, actions: int, fraction: float) -> None:
        if os.getppid() != parent:
            os._exit(1)

    channel: Connection[Answer, Message] = Connection(descriptor)
    try:
        try:
            inputs = channel.recv()
            assert isinstance(inputs, Inputs)
            worker = Worker(inputs, end_with_parent)
        except (ImportError, AttributeError, TisimError) as error:
            channel.send(f"{type(error).__name__}: {error}")
            return
        channel.send(None)
        while True:
            message = channel.recv()
            assert not isinstance(message, Inputs)
            number, job = message
            channel.send((number, worker.run(job)))
    except (EOFError, ConnectionError):
        pass  # the sweep has ended


if __name__ == "__main__":
    main(int(sys.argv[1]))
