"""Replays with several seeds of a small jitter."""

from __future__ import annotations

import os
import pickle
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import tisim
from tisim.errors import InputError
from tisim.kernel.driver import Progress
from tisim.simulation.jitter import times_on_all_cores

_PLATFORM = Path(__file__).with_name("testbed.xml")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Five exchanges of 1 MB that post their receives first."""
    path = tmp_path / "trace.txt"
    exchange = "{0} irecv {1} 0 1048576 6\n{0} isend {1} 0 1048576 6\n{0} waitall\n"
    path.write_text(exchange.format(0, 1) * 5 + exchange.format(1, 0) * 5)
    return path


def test_the_result_is_the_median_and_has_the_times_of_all_seeds(trace: Path) -> None:
    result = tisim.replay(trace, platform=_PLATFORM, jitter=5)
    assert result.jitter is not None
    times, seeds = result.jitter["times"], result.jitter["seeds"]
    assert seeds == [0, 1, 2, 3, 4]
    assert result.simulated_time == statistics.median(times)
    assert min(times) < max(times)
    assert result.config["tisim/jitter-seed"] == seeds[times.index(result.simulated_time)]
    assert (result.jitter["start"], result.jitter["size"]) == (3e-4, 0.005)


def test_the_configuration_says_how_large_the_jitter_is(trace: Path) -> None:
    config = {"tisim/jitter-start": "1e-5", "tisim/jitter-size": 0.25, "tisim/jitter-seed": 7}
    result = tisim.replay(trace, platform=_PLATFORM, config=config, jitter=3)
    assert result.jitter is not None
    assert (result.jitter["start"], result.jitter["size"]) == (1e-5, 0.25)
    assert result.jitter["seeds"] == [7, 8, 9]


def test_ranks_leave_a_barrier_at_different_times(tmp_path: Path) -> None:
    """Whose request comes while the other is in the barrier is answered first: half duplex."""
    path = tmp_path / "trace.txt"
    lines = "{0} init\n{0} barrier\n{0} sendrecv 1048576 {1} 1048576 {1}\n{0} finalize\n"
    path.write_text(lines.format(0, 1) + lines.format(1, 0))

    config: dict[str, object] = {"smpi/coll-selector": "openmpi-4.1", "tisim/jitter-start": 1e-9}

    def times(seconds: float) -> list[float]:
        options = {**config, "tisim/jitter-barrier": seconds}
        result = tisim.replay(path, platform=_PLATFORM, config=options, jitter=5)
        assert result.jitter is not None
        return result.jitter["times"]

    together = times(0)
    assert max(together) < 1.05 * min(together)
    assert sum(time > 1.7 * min(together) for time in times(1e-3)) >= 3
    config |= {"tisim/jitter-barrier": 1.0}
    found = tisim.replay(path, platform=_PLATFORM, config=config, event_log=True)
    assert found.simulated_time > min(together) + 0.05
    assert found.critical_path.shares


def test_the_times_are_written_and_read(trace: Path) -> None:
    result = tisim.replay(trace, platform=_PLATFORM, jitter=3)
    assert tisim.Result.from_json(result.to_json()).jitter == result.jitter
    assert pickle.loads(pickle.dumps(result)).jitter == result.jitter
    assert tisim.replay(trace, platform=_PLATFORM).jitter is None


def test_jitter_goes_with_an_event_log(trace: Path) -> None:
    result = tisim.replay(trace, platform=_PLATFORM, jitter=3, event_log=True)
    assert len(result.messages) == 10


def test_fewer_than_three_seeds_have_no_range(trace: Path) -> None:
    with pytest.raises(InputError, match="at least 3 seeds, not 2"):
        tisim.replay(trace, platform=_PLATFORM, jitter=2)


def test_seeds_run_at_once_and_give_the_times_of_one_after_the_other() -> None:
    together = threading.Barrier(2, timeout=60)

    def replay(seconds: float, waits: bool) -> Callable[[Progress], float]:
        def run(progress: Progress) -> float:
            if waits:
                together.wait()  # for another that runs at the same time
            progress(seconds, 1, 0.5)
            return seconds

        return run

    told = []
    times = times_on_all_cores(
        [replay(3.0, waits=False), replay(1.0, waits=False), replay(2.0, waits=False)],
        lambda seconds, actions, fraction: told.append(seconds),
        workers=3,
    )
    assert times == [3, 1, 2]
    assert told == [3]
    if (os.cpu_count() or 1) > 1:
        assert times_on_all_cores([replay(1.0, True), replay(2.0, True)], None, workers=2) == [1, 2]


def test_an_interrupt_ends_all_of_them() -> None:
    ended = []

    def endless(progress: Progress) -> float:
        try:
            while True:
                time.sleep(0.001)
                progress(0, 0, 0)
        finally:
            ended.append(True)

    def interrupted(progress: Progress) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        times_on_all_cores([interrupted, endless], None, workers=2)
    assert len(ended) <= 1
