"""The core's bindings refuse malformed schedules and arguments."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import tisim
from tests.support import BACKBONE, GRAPHENE
from tisim import _core
from tisim._core import Kind, Simulation
from tisim.actions.script import Script
from tisim.simulation.settings import Settings
from tisim.traces import Trace

CALLS = Path(__file__).with_name("call_everything.py")
# Protection against a hang; no test depends on the value.
MOST_SECONDS = 300


@pytest.fixture
def core() -> Simulation:
    """Return two ranks that are driven from outside."""
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
        with pytest.raises(IndexError, match="no"):
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


def test_requests_of_another_job_are_refused(core: Simulation) -> None:
    core.add_job(None, [0, 1], [])
    requests = []
    for peer in (1, _core.PROC_NULL):
        core.post_message(0, Kind.IRECV, peer, 8, 0)
        core.run(float("inf"), float("inf"))
        requests.append(core.last_request(0))
    first, second = requests
    for request in requests:
        for index in (1, 2, 3):
            with pytest.raises(IndexError, match="no pending request"):
                core.post_request(index, Kind.WAIT, request)
    core.post_requests(0, Kind.WAITANY, [first, second])
    core.run(float("inf"), float("inf"))
    assert core.taken_request(0) == second


RANKS = 8


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    for rank in range(RANKS):
        (tmp_path / f"r{rank}").write_text(f"{rank} init\n{rank} bcast 80\n{rank} finalize\n")
    return tmp_path


def add_row(s: Script, kind: int, peer: object, size: object, slot: object = -1) -> None:
    s.kinds.append(kind)
    s.peers.append(peer)  # type: ignore[arg-type]
    s.sizes.append(size)  # type: ignore[arg-type]
    s.tags.append(0)
    s.slots.append(slot)  # type: ignore[arg-type]


def shorten(s: Script) -> None:
    s.send(1, 8)
    s.sizes.pop()


def wait_twice(s: Script) -> None:
    request = s.irecv((s.rank + 1) % s.size, 8)
    s.wait(request)
    s.wait(request)


def use_pending_slot(s: Script) -> None:
    s.irecv(1, 8)
    add_row(s, 4, 1, 8, 0)


def drop_column(s: Script) -> None:
    s.peers = None  # type: ignore[assignment]


HOSTILE: list[tuple[Callable[[Script], object], str]] = [
    (lambda s: s.send(s.size, 8), "step 1: sends to rank 8 of a communicator of 8 ranks; ranks"),
    (lambda s: s.send(-7, 8), "step 1: sends to rank -7 of"),
    (lambda s: s.recv(99, 8), "step 1: receives from rank 99 of"),
    (lambda s: s.irecv(-1, 8), "step 1: receives from rank -1 of"),
    (lambda s: s.sendrecv(1, 8, 0, 99, 8, 0), "step 1: receives from rank 99 of"),
    (lambda s: s.send(2**40, 8), "step 1: its peer is 1099511627776, which is not a whole number"),
    (lambda s: s.send(1.5, 8), "step 1: its peer is 1.5, which is not a whole number"),  # type: ignore[arg-type]
    (lambda s: s.wait(3), "step 1: waits for the request 3, which is not pending"),
    (lambda s: s.waitall([3]), "step 1: waits for the request 3, which is not pending"),
    (lambda s: add_row(s, 5, 0, 0), "step 1: waits for the request -1, which is not pending"),
    (wait_twice, "step 3: waits for the request 0, which is not pending"),
    (use_pending_slot, "step 2: starts the request 0, which is still pending"),
    (lambda s: s.send(1, -100), "step 1: sends -100 bytes"),
    (lambda s: s.send(1, 1.5), "step 1: sends 1.5 bytes"),  # type: ignore[arg-type]
    (lambda s: s.send(1, float("nan")), "step 1: sends nan bytes"),  # type: ignore[arg-type]
    (lambda s: s.send(1, 10**300), "step 1: sends 1.0000000000000001e[+]300 bytes"),
    (lambda s: s.send(1, 10**400), "step 1: its size is 1000000"),
    (lambda s: s.send(1, "8"), "step 1: its size is '8', which is not a number"),  # type: ignore[arg-type]
    (lambda s: s.compute(float("inf")), "step 1: computes inf flops"),
    (lambda s: add_row(s, 77, 0, 0), "step 1: has the unknown code 77"),
    (lambda s: add_row(s, 8, 0, 0), "step 1: is the receiving half of a sendrecv"),
    (shorten, "its columns differ in length: 1 kinds, 1 peers, 0 sizes, 1 tags, 1 slots"),
    (drop_column, "its peers are not a list"),
]


@pytest.fixture
def hostile() -> Iterator[Callable[[Callable[[Script], object]], None]]:
    written: list[Callable[[Script], object]] = []

    with tisim.default_registry.restored():

        @tisim.collective("bcast", "my_bcast")
        def my_bcast(s: Script, count: int, size: int, root: int) -> None:
            if s.rank == 3:
                written[0](s)

        yield written.append


@pytest.mark.parametrize(("write", "message"), HOSTILE)
def test_error_names_algorithm_rank_and_step(
    trace: Path, hostile: Callable[..., None], write: Callable[[Script], object], message: str
) -> None:
    hostile(write)
    with pytest.raises(tisim.InputError, match=message) as caught:
        tisim.replay(
            trace,
            platform=GRAPHENE,
            config={"smpi/bcast": "my_bcast"},
        )
    assert "algorithm 'my_bcast' (bcast), rank 3, " in caught.value.message
    assert caught.value.file == str(trace / "r3")
    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("line", "config", "author"),
    [
        (
            "allreduce 80 0",
            {"smpi/allreduce": "redbcast"},
            "algorithm 'my_bcast' (bcast) in algorithm 'redbcast' (allreduce)",
        ),
        ("comm_dup 0 1", {}, "algorithm 'my_bcast' (bcast) in the algorithms of comm_dup"),
    ],
)
def test_error_names_the_algorithm_that_another_one_has_called(
    tmp_path: Path, hostile: Callable[..., None], line: str, config: dict[str, str], author: str
) -> None:
    for rank in range(RANKS):
        (tmp_path / f"r{rank}").write_text(f"{rank} init\n{rank} {line}\n{rank} finalize\n")
    hostile(lambda s: s.send(99, 8))
    with pytest.raises(tisim.InputError) as caught:
        tisim.replay(
            tmp_path,
            platform=GRAPHENE,
            config={**config, "smpi/bcast": "my_bcast"},
        )
    assert caught.value.message.startswith(f"{author}, rank 3, step ")
    assert "sends to rank 99 of a communicator of 8 ranks" in caught.value.message


def test_error_of_an_algorithm_that_calls_others_names_it_alone(
    tmp_path: Path, trace: Path
) -> None:
    registry = tisim.Registry()

    @registry.collective("bcast", "barrier_first")
    def barrier_first(s: Script, count: int, size: int, root: int) -> None:
        s.chosen("barrier")(s)
        s.send(99, 8)

    with pytest.raises(tisim.InputError, match=r": algorithm 'barrier_first' \(bcast\), rank"):
        tisim.replay(
            trace,
            platform=GRAPHENE,
            config={"smpi/bcast": "barrier_first"},
            registry=registry,
        )


def test_schedules_that_do_not_match_are_a_deadlock(
    trace: Path, hostile: Callable[..., None]
) -> None:
    hostile(lambda s: s.recv(4, 8))
    with pytest.raises(tisim.SimulationError, match=r"deadlock .*\n.*r3:2: rank 3: bcast waits"):
        tisim.replay(
            trace,
            platform=GRAPHENE,
            config={"smpi/bcast": "my_bcast"},
        )
