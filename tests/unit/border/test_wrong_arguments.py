"""No argument from Python crashes the core: wrong indices and numbers are exceptions."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tisim
from tests.support import BACKBONE
from tisim import _core
from tisim._core import Kind, Simulation
from tisim.simulation.settings import Settings
from tisim.traces import Trace

CALLS = Path(__file__).with_name("call_everything.py")
# A guard against hanging for ever; nothing depends on it otherwise.
MOST_SECONDS = 300


@pytest.fixture
def core() -> Simulation:
    """Two ranks that are driven from outside."""
    settings = Settings(tisim.Platform.load(BACKBONE))
    simulation = Simulation(settings.model, settings.data)
    simulation.add_job(None, [0, 1], [])
    return simulation


def test_every_function_of_the_bindings_survives_wrong_arguments(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, CALLS, "1", tmp_path],
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    returned, raised = map(int, done.stdout.split())
    assert raised > returned > 100


def test_a_disk_is_on_the_host_of_the_rank_that_asks(tmp_path: Path) -> None:
    builder = tisim.PlatformBuilder("a disk each")
    with builder.zone("z"):
        for name in "ab":
            builder.host(name, 1e9, disks={"d": (1, 1, "")})
    settings = Settings(builder.build())
    simulation = Simulation(settings.model, settings.data)
    with pytest.raises(RuntimeError, match="no disk was asked for"):
        simulation.asked_file()
    trace = tmp_path / "trace.txt"
    trace.write_text("0 open 3 f%d\n")
    simulation.add_job(Trace.open(trace).core, [1], [])
    assert simulation.run(float("inf"), float("inf")) == _core.Stop.NEED_DISK
    assert simulation.asked_file() == (0, 1, "f0")
    with pytest.raises(ValueError, match="the disk is not on the host of the rank"):
        simulation.provide_disk(0)
    simulation.provide_disk(1)


def test_unknown_operation_names_the_nearest(core: Simulation) -> None:
    with pytest.raises(tisim.InputError, match="no collective 'allredcue'; did you mean allreduce"):
        core.post_collective(0, "allredcue", [])
    with pytest.raises(tisim.InputError, match="no collective 'xyzzy'; known ones are barrier, "):
        core.post_collective(0, "xyzzy", [])
    with pytest.raises(tisim.InputError, match="no collective 'send'"):
        core.post_collective(0, "send", [])


@pytest.mark.parametrize(
    "make",
    [
        lambda: [_core.ActionTable(1)],
        lambda: [_core.PerfettoWriter("title", ["rank 0"])],
        lambda: [_core.PajeWriter(1)],
        lambda: [_core.ParaverWriter(np.ones(1, dtype=np.int32), 16)],
        lambda: [states_for(_core.StateTable(1))],
        lambda: [_core.ActionsCsv(), states_for(_core.PerfettoWriter("title", ["rank 0"]).sink())],
    ],
)
def test_events_of_more_ranks_than_a_timeline_has(
    core: Simulation, make: Callable[[], list[_core.Listener]]
) -> None:
    core.record(100)
    core.post_message(0, Kind.SEND, 1, 8, 0)
    core.post_message(1, Kind.RECV, 0, 8, 0)
    core.run(1e9, 1e9)
    core.take_completions()
    core.run(1e9, 1e9)
    playback = _core.Playback()
    for listener in make():
        playback.add(listener)
    with pytest.raises(tisim.InputError, match="rank 1, but the timeline has 1 ranks; make it"):
        playback.play(core.take_records(True))


def states_for(sink: _core.StateSink) -> _core.States:
    states = _core.States()
    states.add(sink)
    return states


@pytest.mark.parametrize("rank", [-1, 2, 99])
def test_ranks_are_checked(core: Simulation, rank: int) -> None:
    message = f"there is no rank {rank}; there are 2, numbered from 0"
    for call in (
        lambda: core.post_message(rank, Kind.SEND, 0, 8, 0),
        lambda: core.post_message(0, Kind.SEND, rank, 8, 0),
        lambda: core.post_sendrecv(0, rank, 8, 0, 1, 8, 0),
        lambda: core.post_compute(rank, 1.0),
        lambda: core.rank_state(rank),
        lambda: core.kill_at(rank, 1.0),
        lambda: core.world_size(rank),
    ):
        with pytest.raises(IndexError, match=message):
            call()


def test_hosts_links_and_jobs_are_checked(core: Simulation) -> None:
    for call in (
        lambda: core.execute(100_000, 1.0),
        lambda: core.transfer(0, -1, 1.0),
        lambda: core.add_route(0, 1, [100_000], 0.0),
        lambda: core.add_job(None, [100_000], []),
        lambda: core.rank_results(1),
        lambda: core.comm_hosts(-1),
    ):
        with pytest.raises(IndexError, match="there is no"):
            call()


@pytest.mark.parametrize("amount", [-1.0, float("nan"), float("inf")])
def test_amounts_are_checked(core: Simulation, amount: float) -> None:
    for call in (
        lambda: core.post_compute(0, amount),
        lambda: core.post_sleep(0, amount),
        lambda: core.post_message(0, Kind.SEND, 1, amount, 0),
        lambda: core.execute(0, amount),
        lambda: core.transfer(0, 1, amount),
    ):
        with pytest.raises(ValueError, match="must be finite and not negative"):
            call()


def test_answers_that_nobody_asked_for_are_refused(core: Simulation) -> None:
    for call in (
        core.retry,
        core.needed_schedule,
        core.needed_action,
        lambda: core.provide_schedule([], [], [], [], [], False),
        lambda: core.resume(0),
        lambda: core.take_records(False),
        core.load,
        core.mismatch,
    ):
        with pytest.raises(RuntimeError):
            call()


def test_a_rank_in_a_call_takes_no_other_one(core: Simulation) -> None:
    core.post_compute(0, 1e9)
    with pytest.raises(RuntimeError, match="still in an operation"):
        core.post_compute(0, 1e9)


def test_requests_are_checked(core: Simulation) -> None:
    for request in (-1, 0, 5):
        with pytest.raises(IndexError, match="no pending request"):
            core.post_request(0, _core.Kind.WAIT, request)
        with pytest.raises(IndexError, match="no pending request"):
            core.post_requests(0, _core.Kind.WAITALL, [request])
    with pytest.raises(ValueError, match="listed twice"):
        core.post_requests(0, _core.Kind.WAITANY, [1, 1])
    with pytest.raises(ValueError, match="not about one request"):
        core.post_request(0, _core.Kind.TEST, 0)
    with pytest.raises(ValueError, match="not about several"):
        core.post_requests(0, _core.Kind.TESTALL, [])
    with pytest.raises(ValueError, match="not a message"):
        core.post_message(0, _core.Kind.COLLECTIVE, 0, 0, 0)
