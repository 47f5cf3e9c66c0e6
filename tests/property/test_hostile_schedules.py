"""Random schedules of a collective end in errors or results: none crashes, none hangs."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.campaign import campaign

REPLAYS = Path(__file__).with_name("hostile_schedules.py")
BATCHES, BATCH = campaign(30, 100), 100
# A guard against hanging for ever; a batch takes a small part of it.
MOST_SECONDS = 120


class Replayer:
    """A process that replays batches of random schedules."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self._process = subprocess.Popen(
            [sys.executable, REPLAYS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def replay(self, seed: int) -> Counter[str]:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{seed} {BATCH}\n")
        process.stdin.flush()
        if not select.select([process.stdout], [], [], MOST_SECONDS)[0]:
            process.kill()
            raise AssertionError(f"a schedule of the batch {seed} hangs")
        line = process.stdout.readline()
        assert line, f"a schedule of the batch {seed} crashes: status {process.wait()}"
        outcomes: Counter[str] = Counter(json.loads(line))
        self.outcomes += outcomes
        return outcomes

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def replayer() -> Iterator[Replayer]:
    process = Replayer()
    yield process
    process.close()


@settings(
    max_examples=BATCHES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**31))
def test_hostile_schedules_end(replayer: Replayer, seed: int) -> None:
    outcomes = replayer.replay(seed)
    assert outcomes.total() == BATCH


def test_all_kinds_of_ends_were_met(replayer: Replayer) -> None:
    outcomes = replayer.replay(0)
    assert set(outcomes) == {"InputError", "SimulationError", "Result"}
