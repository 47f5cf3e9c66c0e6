"""Python from threads and forks, and processes that raise."""

from __future__ import annotations

import multiprocessing
import pickle
import threading
import traceback
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import tisim
from tests.unit.command_line import BACKBONE, RING
from tisim.kernel import Environment


def bits(platform: tisim.Platform) -> list[tuple[object, ...]]:
    """All numbers of a replay, of its ranks and of its event log."""
    result = tisim.replay(RING, platform=platform, event_log=True)
    rows = map(tuple, result.ranks.itertuples())
    return [*rows, *map(tuple, result.require_event_log().states.itertuples())]


def test_forks_replay_what_their_parent_has_opened() -> None:
    """Also when the parent has used threads before."""
    platform = tisim.Platform.load(BACKBONE)
    with ThreadPoolExecutor(2) as pool:
        (alone, other) = pool.map(bits, [platform, platform])
    assert alone == other
    context = multiprocessing.get_context("fork")
    answers: Any = context.Queue()
    children = [
        context.Process(target=lambda: answers.put(bits(platform) == alone)) for _ in range(3)
    ]
    for child in children:
        child.start()
    assert [answers.get(timeout=60) for _ in children] == [True] * 3
    for child in children:
        child.join()


def test_a_replay_outside_the_main_thread_needs_no_signals() -> None:
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(bits(tisim.Platform.load(BACKBONE))))
    thread.start()
    thread.join()
    assert found == [bits(tisim.Platform.load(BACKBONE))]


def test_a_process_that_raises_ends_the_run_with_its_own_traceback() -> None:
    environment = Environment(platform=tisim.Platform.load(BACKBONE))

    def fails_later() -> Generator[Any, Any, None]:
        yield environment.timeout(1e-3)
        raise ZeroDivisionError("of its own")

    job = environment.replay(RING)
    environment.process(fails_later())
    with pytest.raises(ZeroDivisionError) as raised:
        environment.run(job)
    told = "".join(traceback.format_exception(raised.value))
    assert "in fails_later" in told and "of its own" in told


def test_what_a_user_holds_can_be_pickled() -> None:
    platform = tisim.Platform.load(BACKBONE)
    trace = tisim.Trace.open(RING)
    result = tisim.replay(trace, platform=platform)
    deployment = tisim.Deployment.cyclic(platform, trace.ranks)
    held = (platform, trace, deployment, tisim.Config({"precision/timing": "1e-9"}))
    again = pickle.loads(pickle.dumps(held))
    same = tisim.replay(again[1], platform=again[0], deployment=again[2], config=again[3])
    assert same.simulated_time == result.simulated_time
