"""Schedules of collectives are kept for later calls, but no more of them than there is room for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tisim.kernel.driver import Driver
from tisim.platform import Platform
from tisim.simulation.settings import Settings
from tisim.traces import Trace

ROOT = Path(__file__).resolve().parents[3]
RANKS = 4
CALLS = 300


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """Calls of other sizes, and then the first ones once more."""
    sizes = [*range(1, CALLS + 1), *range(1, 11)]
    for rank in range(RANKS):
        lines = "".join(f"{rank} allreduce {size} 0 6\n" for size in sizes)
        (tmp_path / f"r{rank}").write_text(lines)
    return Trace.open(tmp_path)


def replayed(trace: Trace, room: int | None) -> tuple[list[float], int]:
    """When the ranks end, and how many schedules are kept then."""
    config = {} if room is None else {"tisim/kept-operations": room}
    settings = Settings(Platform.load(ROOT / "platforms" / "backbone.xml"), config)
    driver = Driver(settings)
    job = driver.add_job(
        trace.core_with(mistaken_null_is_any=True, custom_actions=(), speedups={}),
        list(range(RANKS)),
    )
    driver.run()
    return driver.core.rank_results(job)["finish"].tolist(), driver.core.kept_schedules()


def test_all_are_kept_where_there_is_room(trace: Trace) -> None:
    assert replayed(trace, None)[1] == RANKS * CALLS


def test_where_there_is_little_room_few_are_kept_and_nothing_else_changes(trace: Trace) -> None:
    ends, kept = replayed(trace, 400)
    assert kept < 60
    assert ends == replayed(trace, None)[0]
