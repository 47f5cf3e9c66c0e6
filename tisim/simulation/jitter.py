"""Replays with a small jitter of starts and sizes: the median over seeds and its interval.

Real ranks never start at one instant, and no two messages take exactly the same time. A replay that
stays symmetric can take a course that no real run takes, most of all where messages are in order
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

#: The default jitter: seconds, and a part of a message's bytes.
DEFAULT_START: Final = 3e-4
DEFAULT_SIZE: Final = 0.005

#: More seeds make no median better.
MOST_SEEDS: Final = 10_000


def options(protocol: Protocol, seed: int) -> dict[str, object]:
    """The options of a replay with a seed; the configuration's own jitter holds where it has one.

    `protocol` is the parameters of the configuration. `seed`: how many seeds to go on from that of
    the configuration.
    """
    return {
        "tisim/jitter-start": protocol.jitter_start or DEFAULT_START,
        "tisim/jitter-size": protocol.jitter_size or DEFAULT_SIZE,
        "tisim/jitter-seed": protocol.jitter_seed + seed,
    }


def check_number(number: int) -> None:
    """See to it that there is a median and an interval.

    Raises an `InputError` if there are fewer than three seeds.
    """
    if number < 3:
        raise InputError(f"a jitter needs at least 3 seeds, not {number}, for a median and a range")
    if number > MOST_SEEDS:
        raise InputError(f"a jitter takes at most {MOST_SEEDS:,} seeds, not {number}")


def times_on_all_cores(
    replays: Sequence[Callable[[Progress], float]], progress: Progress | None, *, workers: int
) -> list[float]:
    """The simulated times of some replays, several of which run at once.

    The core releases the GIL while it simulates, so threads are enough, which share the trace and
    the platform. `replays`: each takes whom to tell how far it is, and returns its simulated
    seconds. `progress`: is told how far the first one is. `workers`: how many run at once; at most
    as many as there are cores. Raises a `KeyboardInterrupt` when Ctrl-C stopped them; all have
    ended.
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
    """Which of some times is the median, the lower one of an even number."""
    return sorted(range(len(times)), key=times.__getitem__)[(len(times) - 1) // 2]
