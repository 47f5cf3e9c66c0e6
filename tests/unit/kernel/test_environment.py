"""Activities, traces and disks in a SimPy environment, on its clock."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import simpy

import tisim
from tests.support import RING, ROOT, load_platform, write_trace
from tisim.errors import InputError, ResourceOffError
from tisim.kernel import Environment

BACKBONE = tisim.Platform.load(ROOT / "platforms" / "backbone.xml")  # 1 Gflop/s, 1 Gb/s
RAW = {"network/model": "raw"}  # a transfer takes latency + size / bandwidth
LATENCY = 50e-6 + 500e-6 + 50e-6  # up, backbone, down
A, B, C = "c-0.me", "c-1.me", "c-2.me"

Process = Generator[Any, Any, Any]


@pytest.fixture
def env() -> Environment:
    return Environment(BACKBONE, RAW)


def start(env: Environment, *generators: Process) -> list[simpy.Process]:
    return [env.process(generator) for generator in generators]


def ran(env: Environment, *generators: Process) -> list[Any]:
    """Run processes and return their values."""
    processes = start(env, *generators)
    env.run()
    return [process.value for process in processes]


def test_a_computation_takes_flops_over_speed(env: Environment) -> None:
    def job() -> Process:
        value = yield env.execute(A, 2e9)
        return env.now, value

    assert ran(env, job()) == [(2.0, None)]


def test_computations_on_one_host_share_it(env: Environment) -> None:
    def job(flops: float) -> Process:
        yield env.execute(A, flops)
        return env.now

    assert ran(env, job(1e9), job(2e9)) == [2.0, 3.0]


def test_a_transfer_takes_latency_and_size_over_bandwidth(env: Environment) -> None:
    def job() -> Process:
        yield env.transfer(A, B, 1.25e8)
        return env.now

    assert ran(env, job()) == pytest.approx([1.0 + LATENCY], rel=1e-12)


def test_activities_and_timeouts_are_on_one_clock(env: Environment) -> None:
    log: list[Any] = []

    def with_both() -> Process:
        yield env.timeout(0.5)
        yield env.execute(A, 1e9)
        log.append(env.now)
        yield env.timeout(0.25)
        log.append(env.now)

    def ticking() -> Process:
        for _ in range(5):
            yield env.timeout(0.4)
            log.append(round(env.now, 9))

    ran(env, with_both(), ticking())
    assert log == [0.4, 0.8, 1.2, 1.5, 1.6, 1.75, 2.0]


def test_at_one_instant_the_core_comes_first(env: Environment) -> None:
    log: list[str] = []

    def tick() -> Process:
        yield env.timeout(1.0)
        log.append("timeout")

    def job() -> Process:
        yield env.execute(A, 1e9)
        log.append("computation")

    ran(env, tick(), job())
    assert log == ["computation", "timeout"]


def test_run_until_a_time_stops_before_what_ends_then(env: Environment) -> None:
    def job() -> Process:
        yield env.execute(A, 1e9)
        return env.now

    (process,) = start(env, job())
    env.run(until=1.0)
    assert env.now == 1.0
    assert process.is_alive
    assert env.peek() == 1.0
    env.run(until=1.5)
    assert process.value == 1.0
    assert env.now == 1.5


def test_run_until_an_activity(env: Environment) -> None:
    env.execute(A, 5e9)
    assert env.run(until=env.execute(B, 1e9)) is None
    assert env.now == 1.0
    env.run()
    assert env.now == 5.0


def test_what_waits_behind_the_end_of_a_run_is_not_lost(env: Environment) -> None:
    event = env.execute(A, 1e9)

    def job() -> Process:
        yield event
        return env.now

    env.run(until=0.5)
    until = env.event()
    event.callbacks.append(lambda _: until.succeed("stopped"))
    (process,) = start(env, job())
    assert env.run(until=until) == "stopped"
    env.run()
    assert process.value == 1.0


def test_callbacks_after_the_stop_follow_in_the_next_run(env: Environment) -> None:
    event = env.execute(A, 1e9)
    seen: list[float] = []

    def late(_: simpy.Event) -> None:
        seen.append(env.now)

    event.callbacks.append(simpy.core.StopSimulation.callback)
    event.callbacks.append(late)
    env.run()
    assert seen == []
    env.run()
    assert seen == [1.0]


def test_an_event_is_triggered_when_it_happens(env: Environment) -> None:
    event = env.execute(A, 1e9)
    assert not event.triggered
    env.run(until=0.5)
    assert not event.triggered
    env.run()
    assert event.triggered and event.processed and event.ok


def test_conditions_of_activities(env: Environment) -> None:
    log: list[Any] = []

    def job() -> Process:
        short, long = env.execute(A, 1e9), env.execute(B, 3e9)
        found = yield short | env.timeout(10)
        log.append((env.now, short in found))
        yield short & long
        log.append(env.now)
        yield env.all_of([env.transfer(A, B, 0), env.transfer(B, A, 0)])
        log.append(round(env.now - 3, 9))

    ran(env, job())
    assert log[:2] == [(1.0, True), 3.0]
    assert log[2] == pytest.approx(LATENCY)


def test_an_interrupted_process_leaves_its_activity_running(env: Environment) -> None:
    log: list[Any] = []

    def job() -> Process:
        activity = env.execute(A, 2e9)
        try:
            yield activity
        except simpy.Interrupt as interrupt:
            log.append((env.now, interrupt.cause))
        yield activity
        log.append(env.now)

    def boss(victim: simpy.Process) -> Process:
        yield env.timeout(0.5)
        victim.interrupt("enough")

    (victim,) = start(env, job())
    ran(env, boss(victim))
    assert log == [(0.5, "enough"), 2.0]


def test_a_failing_process_ends_the_run(env: Environment) -> None:
    def job() -> Process:
        yield env.execute(A, 1e9)
        raise ValueError("broken")

    start(env, job())
    with pytest.raises(ValueError, match="broken"):
        env.run()
    assert env.now == 1.0


@pytest.mark.parametrize("amount", [-1, float("nan"), float("inf")])
def test_amounts_that_cannot_be(env: Environment, amount: float) -> None:
    with pytest.raises(tisim.InputError, match="0 flops"):
        env.execute(A, amount)
    with pytest.raises(tisim.InputError, match="0 bytes"):
        env.transfer(A, B, amount)


def test_an_unknown_host(env: Environment) -> None:
    for call in (
        lambda: env.execute("c-1m", 1),
        lambda: env.transfer(A, "c-1m", 1),
        lambda: env.mpi([A, "c-1m"]),
    ):
        with pytest.raises(tisim.InputError, match=r"has no host 'c-1m'; did you mean c-1.me"):
            call()


def test_two_replays_share_the_network() -> None:
    ring = tisim.Trace.open(RING)
    alone = tisim.replay(ring, platform=BACKBONE)
    env = Environment(BACKBONE)
    apart = [env.replay(ring, ["c-0.me", "c-1.me", "c-2.me", "c-3.me"])]
    apart += [env.replay(ring, ["c-4.me", "c-5.me", "c-6.me", "c-7.me"])]
    env.run()
    # The backbone has enough bandwidth for both.
    assert [event.value.finish.tolist() for event in apart] == [alone.finish.tolist()] * 2

    env = Environment(BACKBONE)
    together = [env.replay(ring), env.replay(ring)]
    env.run()
    for event in together:
        assert event.value.simulated_time > 1.5 * alone.simulated_time
        assert event.value.ranks["host"].tolist() == alone.hosts


def test_a_replay_that_starts_later_counts_from_its_start() -> None:
    alone = tisim.replay(RING, platform=BACKBONE)
    env = Environment(BACKBONE)

    def later() -> Process:
        yield env.timeout(1024)
        return (yield env.replay(RING, tisim.Deployment.cyclic(BACKBONE, 4)))

    result = env.run(until=env.process(later()))
    assert result.finish == pytest.approx(alone.finish, rel=1e-10)
    assert result.compute == pytest.approx(alone.compute, rel=1e-10)
    assert result.communication == pytest.approx(alone.communication, rel=1e-10)
    assert env.now == pytest.approx(1024 + alone.simulated_time, rel=1e-12)


def test_background_traffic_slows_a_replay_down() -> None:
    alone = tisim.replay(RING, platform=BACKBONE)
    env = Environment(BACKBONE)

    def traffic() -> Process:
        while True:
            yield env.transfer("c-0.me", "c-1.me", 1e6)

    env.process(traffic())
    result = env.run(until=env.replay(RING))
    assert result.simulated_time > 1.1 * alone.simulated_time


def test_a_deadlock_of_a_replay_among_processes(tmp_path: Path) -> None:
    trace = write_trace(tmp_path, "recv 1 0 1", "compute 1e9; recv 0 0 1")
    env = Environment(BACKBONE)
    env.replay(trace)
    env.timeout(7)
    with pytest.raises(tisim.SimulationError) as error:
        env.run()
    assert str(error.value).splitlines() == [
        "deadlock at 7 s: 2 ranks wait for events that will never happen",
        f"  {trace}:1: rank 0: recv waits for a message from rank 1 with tag 0",
        f"  {trace}:3: rank 1: recv waits for a message from rank 0 with tag 0",
    ]


def test_peek_sees_the_core(env: Environment) -> None:
    assert env.peek() == float("inf")
    env.execute(A, 3e9)
    assert env.peek() == 3.0
    env.timeout(1)
    assert env.peek() == 1.0


DISK = """<zone id="z" routing="Full"><host id="a" speed="1Gf">
<disk id="d" read_bw="200" write_bw="80"><prop id="mount" value="/scratch"/></disk></host></zone>"""
OFF = '<trace id="t" periodicity="-1">1 0</trace><trace_connect trace="t" element="a"/>'


def with_disk(tmp_path: Path, more: str = "") -> Environment:
    return Environment(load_platform(tmp_path, DISK + more))


def test_reads_and_writes_share_a_disk(tmp_path: Path) -> None:
    env = with_disk(tmp_path)
    ends = []

    def reader() -> Process:
        yield env.read("a", "/scratch/in", 320)
        ends.append(("read", env.now))

    def writer() -> Process:
        yield env.write("a", "out", 80)
        ends.append(("written", env.now))

    ran(env, reader(), writer())
    assert ends == [("written", 1.0), ("read", 2.0)]


def test_a_computation_does_not_slow_a_disk_down(tmp_path: Path) -> None:
    env = with_disk(tmp_path)

    def job() -> Process:
        yield env.execute("a", 1e9) & env.read("a", "in", 200)
        return env.now

    assert ran(env, job()) == [1.0]


def test_a_read_fails_when_its_host_goes_off(tmp_path: Path) -> None:
    env = with_disk(tmp_path, OFF)

    def job() -> Process:
        for start in (0.0, 1.5):
            yield env.timeout(start)
            with pytest.raises(ResourceOffError, match=r"the read of /scratch/in on a failed at"):
                yield env.read("a", "/scratch/in", 400)
            yield env.timeout(0)
        return env.now

    assert ran(env, job()) == [2.5]


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    env = with_disk(tmp_path)
    with pytest.raises(InputError, match="a write must move at least 0 bytes"):
        env.write("a", "out", -1)
    with pytest.raises(InputError, match="no disk of host 'a' contains '/home/x'"):
        env.read("a", "/home/x", 1)
