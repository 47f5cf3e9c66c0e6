"""The same input gives the same bytes: repeated, in threads, forks and other processes."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import threading
import traceback
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.oracle.cases import Case
from tests.support import GRAPHENE
from tests.unit.command_line import BACKBONE, RING
from tisim.kernel import Environment


def untimed(text: str) -> str:
    return re.sub(r'"wall_time": [^,]*,', "", text)


@pytest.fixture(scope="module")
def inputs(nas_traces: Path) -> dict[str, Any]:
    platform = tisim.Platform.load(GRAPHENE)
    return {
        "trace": tisim.Trace.open(nas_traces / "mg.S.16"),
        "platform": platform,
        "deployment": tisim.Deployment.cyclic(platform, 16),
        "config": tisim.Config({"smpi/coll-selector": "mvapich2"}),
    }


def test_threads_share_what_is_made_once(inputs: dict[str, Any]) -> None:
    alone = untimed(tisim.replay(**inputs).to_json())

    def run(_: int) -> str:
        return untimed(tisim.replay(**inputs).to_json())

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(run, range(8))) == {alone}


def test_threads_share_a_platform_whose_routes_are_looked_up(tmp_path: Path) -> None:
    """Routes of such platforms are computed on demand and cached."""
    case = next(
        drawn
        for drawn in (Case.draw(seed, families=("dijkstra",)) for seed in range(50))
        if drawn.program.ranks >= 12
    )
    case.write(tmp_path)

    def run(platform: tisim.Platform) -> str:
        result = tisim.replay(
            tmp_path / "traces", platform=platform, hosts=case.hosts, config=case.config
        )
        return untimed(result.to_json())

    alone = run(tisim.Platform.load(tmp_path / "platform.xml"))
    shared = tisim.Platform.load(tmp_path / "platform.xml")
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(run, [shared] * 8)) == {alone}


def test_processes_with_other_hash_seeds_give_the_same_bytes(
    inputs: dict[str, Any], nas_traces: Path
) -> None:
    command = [sys.executable, "-m", "tisim", "replay", "--platform", str(GRAPHENE)]
    command += ["--config", "smpi/coll-selector=mvapich2", "--json", "-"]
    command += [str(nas_traces / "mg.S.16")]
    texts = set()
    for seed in ("1", "2"):
        run = subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True
        )
        assert run.returncode == 0, run.stderr
        texts.add(untimed(run.stdout))
    assert len(texts) == 1
    assert json.loads(texts.pop()) == json.loads(untimed(tisim.replay(**inputs).to_json()))


def bits(platform: tisim.Platform) -> list[tuple[object, ...]]:
    """Return all numbers of a replay, of its ranks and of its event log."""
    result = tisim.replay(RING, platform=platform, event_log=True)
    rows = map(tuple, result.ranks.itertuples())
    return [*rows, *map(tuple, result.require_event_log().states.itertuples())]


def test_forks_replay_what_their_parent_has_opened() -> None:
    """Also if the parent has used threads before."""
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
