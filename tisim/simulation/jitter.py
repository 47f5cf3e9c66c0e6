"""Replays with a small jitter of starts and sizes: the median over seeds and its range.

Real ranks never start at the same instant, and no two messages take exactly the same time. A replay
that stays symmetric can take a course that no real run takes, especially if messages are in order
(`network/ordering:fifo`, ADR 27).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from tisim.errors import InputError

if TYPE_CHECKING:
    from tisim.config.table import Protocol
    from tisim.kernel.driver import Progress

#: The default jitter: seconds, and a fraction of a message's bytes.
DEFAULT_START: Final = 3e-4
DEFAULT_SIZE: Final = 0.005

#: Maximum number of seeds; more do not improve the median.
MAX_SEEDS: Final = 10_000


def options(protocol: Protocol, seed: int) -> dict[str, object]:
    """Return the options of a replay with a seed; jitter of the configuration takes precedence.

    `protocol` has the parameters of the configuration. `seed` is added to the configuration's seed.
    """
    return {
        "tisim/jitter-start": protocol.jitter_start or DEFAULT_START,
        "tisim/jitter-size": protocol.jitter_size or DEFAULT_SIZE,
        "tisim/jitter-seed": protocol.jitter_seed + seed,
    }


def check_seed_count(number: int) -> None:
    """Check that the number of seeds gives a median and a range.

    Raises an `InputError` if there are fewer than three seeds, or more than `MAX_SEEDS`.
    """
    if number < 3:
        raise InputError(f"jitter needs at least 3 seeds, not {number}, for a median and a range")
    if number > MAX_SEEDS:
        raise InputError(f"jitter supports at most {MAX_SEEDS:,} seeds, not {number}")


def replay_concurrently(
    replays: Sequence[Callable[[Progress], float]], progress: Progress | None, *, workers: int
) -> list[float]:
    """Run replays concurrently and return their simulated times.

    The core releases the GIL while it simulates, so threads suffice; they share the trace and the
    platform. `replays`: each takes a progress callback and returns its simulated seconds.
    `progress` is called with the progress of the first one. `workers`: maximum number of concurrent
    replays, at most the number of cores. Raises a `KeyboardInterrupt` after Ctrl-C, when all
    replays have ended.
    """
    from concurrent.futures import ThreadPoolExecutor

    stopped = threading.Event()

    def watched(listener: Progress | None) -> Progress:
        def watch(seconds: float, actions: int, fraction: float) -> None:
            if stopped.is_set():
                raise KeyboardInterrupt
            if listener is not None:
                listener(seconds, actions, fraction)

        return watch

    if min(workers, os.cpu_count() or 1) == 1:
        return [replay(watched(progress)) for replay in replays]
    with ThreadPoolExecutor(min(workers, os.cpu_count() or 1)) as pool:
        futures = [
            pool.submit(replay, watched(None if number else progress))
            for number, replay in enumerate(replays)
        ]
        try:
            return [future.result() for future in futures]
        except BaseException:
            stopped.set()
            pool.shutdown(cancel_futures=True)
            raise


def median_of(times: list[float]) -> int:
    """Return the index of the median time; the lower median for an even number."""
    return sorted(range(len(times)), key=times.__getitem__)[(len(times) - 1) // 2]
