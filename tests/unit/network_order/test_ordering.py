"""Messages in order, as with TCP: reports, failures, jitter, and times of real Open MPI runs."""

from __future__ import annotations

import os
import pickle
import statistics
import threading
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.support import load_platform, platform_file, write_trace
from tisim.errors import InputError, SimulationError
from tisim.kernel import Environment, MpiRank
from tisim.kernel.driver import Progress
from tisim.simulation.jitter import replay_concurrently

_PLATFORM = Path(__file__).with_name("testbed.xml")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("network/ordering", "random"),
        ("smpi/rendezvous", "push"),
        ("smpi/fragment-size", "0"),
        ("smpi/pipeline-depth", "0"),
        ("tisim/jitter-size", "1"),
    ],
)
def test_a_wrong_value_is_refused(option: str, value: str, tmp_path: Path) -> None:
    trace = write_trace(tmp_path, ("compute 1",))
    with pytest.raises(InputError, match=option):
        tisim.replay(trace, platform=_PLATFORM, config={option: value})


_PAIR = """<zone id="w" routing="Full">
<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
<link id="ab" bandwidth="1MBps" latency="1ms" {link}/>
<route src="a" dst="b"><link_ctn id="ab"/></route>
</zone>"""
_FIFO = {"network/ordering": "fifo", "network/model": "CM02", "network/crosstraffic": "no"}


def _replay(folder: Path, profile: str, link: str, *programs: tuple[str, ...]) -> tisim.Result:
    (folder / "profile").write_text(profile)
    platform = platform_file(folder, _PAIR.format(link=link))
    return tisim.replay(write_trace(folder, *programs), platform=platform, config=_FIFO)


_MANY = tuple(f"send 1 {tag} 60000 6" for tag in range(3))
_RECEIVES = tuple(f"recv 0 {tag} 60000 6" for tag in range(3))


def test_a_report_tells_how_many_messages_are_before_one(tmp_path: Path) -> None:
    receive = ("recv 0 2 60000 6", "recv 0 0 60000 6", "recv 0 1 60000 6")
    with pytest.raises(SimulationError, match=r"its body is queued behind 2 others"):
        _replay(tmp_path, "0.05 0\n", 'bandwidth_file="profile"', _MANY, receive)


def test_a_report_tells_of_a_body_under_way(tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match=r"its body is under way"):
        _replay(tmp_path, "0.05 0\n", 'bandwidth_file="profile"', _MANY, _RECEIVES)


def test_a_request_that_waits_for_a_receive_is_in_no_queue(tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match=r"100000 bytes with tag 0\n"):
        _replay(tmp_path, "", "", ("send 1 0 100000 6",), ("recv 0 1 10 6",))


def test_messages_that_are_queued_are_lost_with_their_link(tmp_path: Path) -> None:
    # The second and third message are queued when the link fails; it recovers later.
    with pytest.raises(SimulationError, match=r"link"):
        _replay(tmp_path, "0.05 0\n0.06 1\n", 'state_file="profile"', _MANY, _RECEIVES)


def test_messages_after_a_failure_arrive(tmp_path: Path) -> None:
    result = _replay(
        tmp_path,
        "0.05 0\n0.06 1\n",
        'state_file="profile"',
        (*_MANY, "sleep 1", "send 1 9 60000 6"),
        ("sleep 1.5", "recv 0 9 60000 6"),
    )
    assert result.simulated_time == pytest.approx(1.5)


def test_a_handshake_that_loses_its_request_never_ends(tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match=r"link"):
        _replay(
            tmp_path,
            "0.0005 0\n0.06 1\n",
            'state_file="profile"',
            ("send 1 0 100000 6",),
            ("recv 0 0 100000 6",),
        )


def test_bandwidth_that_changes_is_that_of_the_messages_that_move_then(tmp_path: Path) -> None:
    result = _replay(tmp_path, "0.061 2e6\n", 'bandwidth_file="profile"', _MANY, _RECEIVES)
    assert result.simulated_time == pytest.approx(0.001 + 0.06 + 2 * 0.03, rel=1e-3)


def test_processes_exchange_messages_in_order(tmp_path: Path) -> None:
    env = Environment(load_platform(tmp_path, _PAIR.format(link="")), _FIFO)

    def sender(mpi: MpiRank) -> Generator[Any, Any, float]:
        request = yield mpi.isend(1, 200_000, tag=0)
        yield env.timeout(1.0)  # outside MPI: the answer is not read
        yield mpi.wait(request)
        return env.now

    def receiver(mpi: MpiRank) -> Generator[Any, Any, float]:
        yield mpi.recv(0, 200_000, tag=0)
        return env.now

    first, second = env.mpi(["a", "b"])
    processes = [env.process(sender(first)), env.process(receiver(second))]
    env.run()
    assert [process.value for process in processes] == pytest.approx([1.001, 1.201], rel=1e-3)


def test_short_messages_share_a_timeline_one_after_the_other(tmp_path: Path) -> None:
    trace = write_trace(
        tmp_path,
        ("send 1 0 50000 6", "send 1 0 50000 6"),
        ("recv 0 0 50000 6", "recv 0 0 50000 6"),
    )
    result = tisim.replay(trace, platform=_PLATFORM, event_log=True)
    messages = result.messages.sort_values("started")
    first, second = messages.itertuples()
    assert second.started >= first.arrived - 1e-9


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Return a trace with five exchanges of 1 MB that post their receives first."""
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


BARRIER_OPTIONS: dict[str, object] = {
    "smpi/coll-selector": "openmpi-4.1",
    "tisim/jitter-start": 1e-9,
}


def times_of(path: Path, text: str, seconds: float) -> list[float]:
    """Return the times of five seeds of two ranks with the same calls, with jitter of barriers."""
    path.write_text(text.format(0, 1) + text.format(1, 0))
    options = {**BARRIER_OPTIONS, "tisim/jitter-barrier": seconds}
    result = tisim.replay(path, platform=_PLATFORM, config=options, jitter=5)
    assert result.jitter is not None
    return result.jitter["times"]


def test_ranks_notice_at_different_times_that_a_barrier_is_over(tmp_path: Path) -> None:
    """A request that arrives before the other rank has noticed is answered first: half duplex."""
    text = "{0} init\n{0} barrier\n{0} sendrecv 1048576 {1} 1048576 {1}\n{0} finalize\n"
    together = times_of(tmp_path / "trace.txt", text, 0)
    assert max(together) < 1.05 * min(together)
    late = times_of(tmp_path / "trace.txt", text, 1e-3)
    assert sum(time > 1.7 * min(together) for time in late) >= 3


def test_only_requests_are_late_after_a_barrier(tmp_path: Path) -> None:
    path = tmp_path / "trace.txt"
    step = "{0} barrier\n{0} sendrecv 1000 {1} 1000 {1}\n"
    short = "{0} init\n" + 4 * step + "{0} finalize\n"
    assert times_of(path, short, 1.0) == pytest.approx(times_of(path, short, 0), rel=0.01)
    # A rank that computes for a second has noticed by then.
    compute = "{0} init\n{0} barrier\n{0} compute 1e9\n"
    text = compute + "{0} sendrecv 1048576 {1} 1048576 {1}\n{0} finalize\n"
    assert times_of(path, text, 1e-3) == pytest.approx(times_of(path, text, 0), rel=0.01)


def test_a_rank_that_notices_late_is_in_the_event_log(tmp_path: Path) -> None:
    text = "{0} init\n{0} barrier\n{0} sendrecv 1048576 {1} 1048576 {1}\n{0} finalize\n"
    path = tmp_path / "trace.txt"
    path.write_text(text.format(0, 1) + text.format(1, 0))
    together = min(times_of(tmp_path / "other.txt", text, 0))
    config = {**BARRIER_OPTIONS, "tisim/jitter-barrier": 1.0}
    result = tisim.replay(path, platform=_PLATFORM, config=config, event_log=True)
    assert result.simulated_time > together + 0.05
    assert result.critical_path.shares


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
                together.wait()  # for another run at the same time
            progress(seconds, 1, 0.5)
            return seconds

        return run

    told = []
    times = replay_concurrently(
        [replay(3.0, waits=False), replay(1.0, waits=False), replay(2.0, waits=False)],
        lambda seconds, actions, fraction: told.append(seconds),
        workers=3,
    )
    assert times == [3, 1, 2]
    assert told == [3]
    if (os.cpu_count() or 1) > 1:
        assert replay_concurrently([replay(1.0, True), replay(2.0, True)], None, workers=2) == [
            1,
            2,
        ]


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
        replay_concurrently([interrupted, endless], None, workers=2)
    assert len(ended) <= 1


_MB = 1 << 20
_SEEDS = range(9)

Program = Callable[[int], Iterator[str]]


def _exchanges(*calls: str) -> Program:
    """Return five exchanges of two ranks, with calls posted in this order."""

    def program(rank: int) -> Iterator[str]:
        for tag in range(5):
            for call in calls:
                yield f"{call} {1 - rank} {tag} {_MB} 6"
            yield "waitall"

    return program


def _chain(rank: int) -> Iterator[str]:
    """Yield 64 messages through four ranks."""
    for tag in range(64):
        if rank > 0:
            yield f"recv {rank - 1} {tag} 16384 6"
        if rank < 3:
            yield f"send {rank + 1} {tag} 16384 6"


def _call(line: str) -> Program:
    def program(rank: int) -> Iterator[str]:
        yield line

    return program


def _predict(ranks: int, program: Program, folder: Path, config: dict[str, object]) -> float:
    trace = write_trace(folder, *(("init", *program(rank), "finalize") for rank in range(ranks)))
    jitter: dict[str, object] = {"tisim/jitter-start": "3e-4", "tisim/jitter-size": "0.005"}
    times = [
        tisim.replay(
            trace, platform=_PLATFORM, config=config | jitter | {"tisim/jitter-seed": seed}
        ).simulated_time
        for seed in _SEEDS
    ]
    return statistics.median(times)


_ALLGATHER = f"allgather {_MB} {_MB} 6 6"
_CASES = {
    "exchanges, irecv first": (2, _exchanges("irecv", "isend"), {}, (0.88, 0.99)),
    "exchanges, isend first": (2, _exchanges("isend", "irecv"), {}, (0.56, 0.56)),
    "neighbour exchange, 4 ranks": (
        4,
        _call(_ALLGATHER),
        {"smpi/allgather": "ompi_neighborexchange"},
        (0.552, 0.564),
    ),
    "neighbour exchange of 512 KiB": (
        4,
        _call(f"allgather {_MB // 2} {_MB // 2} 6 6"),
        {"smpi/allgather": "ompi_neighborexchange"},
        (0.281, 0.283),
    ),
    "allgather, recursive doubling": (4, _call(_ALLGATHER), {"smpi/allgather": "rdb"}, (0.568,)),
    "neighbour exchange, 8 ranks": (
        8,
        _call(_ALLGATHER),
        {"smpi/allgather": "ompi_neighborexchange"},
        (1.46,),
    ),
    "allreduce, recursive doubling": (
        4,
        _call(f"allreduce {_MB} 0 6"),
        {"smpi/allreduce": "rdb"},
        (0.334,),
    ),
    "allreduce, Rabenseifner": (
        4,
        _call(f"allreduce {_MB} 0 6"),
        {"smpi/allreduce": "rab_rdb"},
        (0.283,),
    ),
    "allreduce of 4 MB, Rabenseifner": (
        4,
        _call(f"allreduce {4 * _MB} 0 6"),
        {"smpi/allreduce": "rab_rdb"},
        (1.14,),
    ),
    "a chain of short messages": (4, _chain, {}, (0.12, 0.13)),
}


@pytest.mark.parametrize("name", _CASES)
def test_a_real_time_is_predicted_within_ten_per_cent(name: str, tmp_path: Path) -> None:
    ranks, program, config, measured = _CASES[name]
    predicted = _predict(ranks, program, tmp_path, dict(config))
    assert 0.9 * min(measured) <= predicted <= 1.1 * max(measured)


def test_the_order_of_posting_matters_only_where_messages_are_in_order(tmp_path: Path) -> None:
    orders = [_exchanges("irecv", "isend"), _exchanges("isend", "irecv")]
    fair, fifo = (
        [_predict(2, program, tmp_path, {"network/ordering": ordering}) for program in orders]
        for ordering in ("fair", "fifo")
    )
    assert fair[0] == pytest.approx(fair[1], rel=0.02)
    assert fifo[0] > 1.5 * fifo[1]


def test_without_jitter_a_symmetric_program_never_falls_into_half_duplex(tmp_path: Path) -> None:
    trace = write_trace(tmp_path, *map(_exchanges("irecv", "isend"), range(2)))
    time = tisim.replay(trace, platform=_PLATFORM).simulated_time
    assert time == pytest.approx(0.55, rel=0.02)
