"""Wait states computed by hand, and computations far longer than others."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

import tisim
from tests.support import ROOT, platform_file, write_ranks, write_trace
from tests.unit.command_line import CommandLine
from tisim.analysis.timeline.outliers import describe_location, format_ranks
from tisim.platform import new
from tisim.platform.deployment import Deployment

# Calls cost nothing, and n flops take n seconds.
FREE = {"smpi/os": "0:0:0", "smpi/ois": "0:0:0", "smpi/or": "0:0:0"}
MACHINE = '<cluster id="c" prefix="c-" suffix="" radical="0-7" speed="1f" bw="1GBps" lat="1us"/>'

Row = tuple[str, str, int, int, float]


def replay(directory: Path, *ranks: str, **options: str) -> tisim.Result:
    """Replay programs of one line per rank, with actions separated by ``;``."""
    traces = write_ranks(directory / "traces", *ranks)
    machine = platform_file(directory, MACHINE)
    return tisim.replay(traces, platform=machine, config=FREE | options, event_log=True)


def waits(result: tisim.Result, least: float = 0.01) -> set[Row]:
    """Return state, kind, rank, cause and seconds of the waits that exceed `least`."""
    rows: Iterable[Row] = result.waits[["state", "kind", "rank", "cause", "seconds"]].itertuples(
        index=False, name=None
    )
    return {(*row[:4], round(row[4], 3)) for row in rows if row[4] > least}


def test_late_sender(tmp_path: Path) -> None:
    """The receiver calls at 1 s, the sender at 4 s."""
    result = replay(tmp_path, "compute 4;send 1 0 1000000 6", "compute 1;recv 0 0 1000000 6")
    assert waits(result) == {("late sender", "recv", 1, 0, 3.0)}
    (wait,) = result.waits["seconds"]
    assert wait == pytest.approx(3.0, abs=1e-12)


def after(call: str, *seconds: int) -> list[str]:
    """Return programs of ranks that make a call, each after computing for some seconds."""
    return [f"compute {duration};{call}" for duration in seconds]


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        pytest.param(
            ["compute 1;send 1 0 1000000 6", "compute 3;recv 0 0 1000000 6"],
            {("late receiver", "send", 0, 1, 2.0)},
            id="a message that large needs its receiver",
        ),
        pytest.param(
            ["compute 1;send 1 0 1000 6", "compute 3;recv 0 0 1000 6"],
            set(),
            id="nobody waits for the receiver of a detached message",
        ),
        pytest.param(
            ["compute 5;send 1 0 1000000 6", "irecv 0 0 1000000 6;compute 2;wait 0 1 0"],
            {("late sender", "wait", 1, 0, 3.0)},
            id="the wait is where the request is waited for",
        ),
        pytest.param(
            [
                "irecv 1 0 8 6;irecv 2 0 8 6;waitall",
                "compute 2;send 0 0 8 6",
                "compute 6;send 0 0 8 6",
            ],
            {("late sender", "waitall", 0, 1, 2.0), ("late sender", "waitall", 0, 2, 4.0)},
            id="a waitall waits for one after the other",
        ),
        pytest.param(
            after("bcast 8 0 6", 6, 1, 2, 8),
            {("late broadcast", "bcast", 1, 0, 5.0), ("late broadcast", "bcast", 2, 0, 4.0)},
            id="all but the root wait until it comes",
        ),
        pytest.param(
            after("bcast 8 0 6", 1, 1, 6, 1),
            {("late broadcast", "bcast", 3, 2, 5.0)},
            id="rank 2 passes the broadcast on to rank 3",
        ),
        pytest.param(
            [
                f"init;comm_split 0 1 {rank % 2} {rank};compute {seconds};barrier comm=1"
                for rank, seconds in enumerate((1, 2, 4, 8))
            ],
            {("wait at barrier", "barrier", 0, 2, 3.0), ("wait at barrier", "barrier", 1, 3, 6.0)},
            id="ranks of a communicator wait for one another only",
        ),
    ],
)
def test_who_waits_for_whom(tmp_path: Path, ranks: list[str], expected: set[Row]) -> None:
    assert waits(replay(tmp_path, *ranks)) == expected


def test_barrier_waits_for_the_last_to_come(tmp_path: Path) -> None:
    result = replay(tmp_path, *after("barrier", 1, 2, 7, 4))
    spent = result.breakdown.by_rank["wait at barrier"]
    assert spent.tolist() == pytest.approx([6, 5, 0, 3], abs=1e-4)
    waited = result.waits.groupby("cause")["seconds"].sum()
    assert waited.idxmax() == 2


@pytest.mark.parametrize("call", ["allreduce 8 0 6", "alltoall 8 8 6 6", "allgather 8 8 6 6"])
def test_all_to_all_waits_for_the_last_to_come(tmp_path: Path, call: str) -> None:
    result = replay(tmp_path, *after(call, 1, 1, 5, 1))
    assert result.breakdown.by_rank["wait at N x N"].tolist() == pytest.approx(
        [4, 4, 0, 4], abs=1e-4
    )
    causes = result.waits.groupby("cause")["seconds"].sum()
    assert causes[2] == pytest.approx(12, abs=1e-3)


def test_early_reduce(tmp_path: Path) -> None:
    """The root waits until the last rank whose data it collects has called."""
    result = replay(tmp_path, *after("reduce 8 0 0 6", 1, 2, 2, 9))
    assert result.breakdown.by_rank["early reduce"][0] == pytest.approx(8, abs=1e-3)
    assert result.waits.iloc[0][["rank", "state"]].tolist() == [0, "early reduce"]


def test_ranks_that_meet_before_a_collective(tmp_path: Path) -> None:
    """`smpi/barrier-collectives`: the last rank is the cause, and on the critical path."""
    ranks = after("bcast 8 0 6", 1, 5, 2)
    result = replay(tmp_path, *ranks, **{"smpi/barrier-collectives": "yes"})
    assert waits(result) == {
        ("wait at barrier", "bcast", 0, 1, 4.0),
        ("wait at barrier", "bcast", 2, 1, 3.0),
    }
    path = result.critical_path
    assert path.length == result.simulated_time
    (first, *rest) = path.parts.to_dict("records")
    assert (first["rank"], first["state"], first["end"]) == (1, "compute", 5.0)
    assert [first["line"], *(part["line"] for part in rest)] == [1, 2]
    assert {part["state"] for part in rest} == {"transfer"}


def test_a_rank_that_starts_late(tmp_path: Path) -> None:
    late = '<actor host="c-0" function="0" start_time="3"/><actor host="c-1" function="1"/>'
    result = tisim.replay(
        write_trace(tmp_path, "compute 1; send 1 0 8 6", "recv 0 0 8 6"),
        platform=platform_file(tmp_path, MACHINE),
        deployment=platform_file(tmp_path, late, "deploy.xml"),
        config=FREE,
        event_log=True,
    )
    assert waits(result) == {("late sender", "recv", 1, 0, 4.0)}
    assert result.breakdown.by_rank["sleep"].tolist() == [3.0, 0.0]
    assert result.critical_path.length == result.simulated_time
    assert result.critical_path.parts["kind"].tolist() == ["no action", "compute", "recv"]


def test_without_an_event_log_there_is_nothing_to_tell() -> None:
    root = Path(__file__).resolve().parents[3]
    result = tisim.replay(root / "traces/ring.4", platform=root / "platforms/graphene.xml")
    names = ("waits", "matrix", "critical_path", "links", "states", "messages", "timeline")
    for name in names:
        with pytest.raises(tisim.TisimError, match="event_log=True"):
            getattr(result, name)


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        (["sendrecv 100000 1 100000 1 6 6", "sendrecv 100000 0 100000 0 6 6"], set()),
        (["alltoall 100000 100000 6 6"] * 3, set()),
        (
            after("alltoall 100000 100000 6 6", 1, 3),
            {("wait at N x N", "alltoall", 0, 1, 2.0)},
        ),
    ],
)
def test_exchanges_in_order_have_a_critical_path(
    tmp_path: Path, ranks: list[str], expected: set[Row]
) -> None:
    """Two ranks that wake each other with replies, before any byte moves, wait for neither."""
    result = replay(tmp_path, *ranks, **{"network/ordering": "fifo"})
    assert result.critical_path.length == pytest.approx(result.simulated_time, rel=1e-12)
    assert waits(result) == expected


def test_ranks_that_wait_for_one_another_have_a_critical_path(tmp_path: Path) -> None:
    """The ranks of a node exchange a block before the others have started."""
    (tmp_path / "machine.xml").write_text(
        """<platform version="4.1"><cluster id="c" prefix="c-" suffix="" radical="0-1" speed="1f"
        bw="4.77MBps" lat="7us" loopback_bw="694MBps" loopback_lat="7us"/></platform>"""
    )
    allgather = "allgather 300000 300000 6 6"
    result = tisim.replay(
        write_ranks(tmp_path / "traces", *[f"barrier;{allgather};{allgather}"] * 4),
        platform=tmp_path / "machine.xml",
        deployment=Deployment.of_hosts(["c-0", "c-0", "c-1", "c-1"]),
        config=FREE
        | {"network/ordering": "fifo", "network/send-buffer": "180000", "smpi/allgather": "NTSLR"}
        | {"tisim/jitter-start": "3e-4", "tisim/jitter-size": "0.005", "tisim/jitter-seed": "1"},
        event_log=True,
    )
    assert result.critical_path.length == pytest.approx(result.simulated_time, rel=1e-12)


_STEPS = 20


def sweep(folder: Path, ranks: int, slow: dict[tuple[int, int], int]) -> Path:
    """Write a sweep over ranks, from first to last and round again; 1 ms of computing each."""
    folder.mkdir()
    for rank in range(ranks):
        lines = [f"{rank} init"]
        for step in range(_STEPS):
            if rank or step:
                lines.append(f"{rank} recv {(rank - 1) % ranks} 1 100")
            lines.append(f"{rank} compute {slow.get((rank, step), 1_000_000)}")
            if (rank, step) != (ranks - 1, _STEPS - 1):
                lines.append(f"{rank} send {(rank + 1) % ranks} 1 100")
        (folder / f"r{rank}").write_text("\n".join(lines) + "\n")
    return folder


def replayed(trace: Path, ranks: int) -> tisim.Result:
    platform = new.cluster(ranks, bandwidth="1GBps", latency="1us", speed="1Gf")
    return tisim.replay(trace, platform=platform, event_log=True)


def test_a_long_computation_is_named_with_who_waits_for_it(tmp_path: Path) -> None:
    result = replayed(sweep(tmp_path / "t", 4, {(2, 7): 30_000_000}), 4)
    (found,) = result.require_event_log().outliers
    assert (found.rank, found.line, found.before, found.after) == (2, 24, 23, 25)
    assert found.seconds == pytest.approx(30e-3)
    assert found.usual == pytest.approx(1e-3)
    assert found.alike == _STEPS
    # Rank 3 waits for it, rank 0 for rank 3, rank 1 for rank 0; for the full duration.
    assert found.waiting == 3
    assert found.waited == pytest.approx(3 * 30e-3, rel=1e-3)
    written = result.require_event_log().to_dict()["outliers"]
    assert written[0]["rank"] == 2 and written[0]["seconds"] == pytest.approx(30e-3)


def test_what_a_rank_does_seldom_is_compared_with_other_ranks(tmp_path: Path) -> None:
    """Each rank computes three times between a barrier and its receive, rank 3 once longer."""
    lines = [f"{rank} init" for rank in range(6)]
    for step in range(3):
        for rank in range(6):
            volume = 20_000_000 if (rank, step) == (3, 1) else 1_000_000 + 1000 * rank
            lines += [f"{rank} barrier", f"{rank} compute {volume}"]
            lines += [f"{rank} send {(rank + 1) % 6} 1 100", f"{rank} recv {(rank - 1) % 6} 1 100"]
    (tmp_path / "t.txt").write_text("\n".join(lines) + "\n")
    (found,) = replayed(tmp_path / "t.txt", 6).require_event_log().outliers
    assert found.rank == 3 and found.seconds == pytest.approx(20e-3)
    assert found.alike == 18 and found.usual == pytest.approx(1e-3, rel=0.01)


def test_computations_that_are_all_alike_are_no_outliers(tmp_path: Path) -> None:
    result = replayed(sweep(tmp_path / "t", 3, {}), 3)
    log = result.require_event_log()
    assert (log.outliers, log.slow_ranks) == ([], [])


def test_a_slow_node_is_named(tmp_path: Path) -> None:
    slow = {(11, step): 2_000_000 for step in range(_STEPS)}
    log = replayed(sweep(tmp_path / "t", 12, slow), 12).require_event_log()
    (found,) = log.slow_ranks
    assert (found.host, found.ranks) == ("node-11", [11])
    assert found.ratio == pytest.approx(2.0)
    assert log.outliers == []
    # If many ranks compute longer, the cause is the division of the work.
    more = slow | {(rank, step): 2_000_000 for rank in (3, 7) for step in range(_STEPS)}
    assert replayed(sweep(tmp_path / "u", 12, more), 12).require_event_log().slow_ranks == []


def test_one_long_computation_makes_no_slow_node(tmp_path: Path) -> None:
    result = replayed(sweep(tmp_path / "t", 12, {(11, 7): 100_000_000}), 12)
    log = result.require_event_log()
    assert [outlier.rank for outlier in log.outliers] == [11]
    assert log.slow_ranks == []


def test_the_printed_critical_path_is_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Entries omitted from the table are summed in its last row."""
    command = CommandLine(tmp_path, capsys)
    mg = str(ROOT / "traces" / "npb.S.tar.xz" / "mg.S.16")
    graphene = str(ROOT / "platforms" / "graphene.xml")
    printed = command.replay("--breakdown", mg, platform=graphene).out
    table = (
        printed.partition("Composition of the critical path")[2]
        .partition("\n\n")[0]
        .splitlines()[2:]
    )
    assert table[-1].startswith("  and 4 more")
    assert sum(float(line.split()[-2].rstrip("%")) for line in table) == pytest.approx(100, abs=0.5)


def test_the_breakdown_prints_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new.cluster(4, bandwidth="1GBps", latency="1us", speed="1Gf").write(tmp_path / "p.xml")
    trace = sweep(tmp_path / "t", 4, {(2, 7): 30_000_000})
    ran = CommandLine(tmp_path, capsys)(
        "replay", "--platform", str(tmp_path / "p.xml"), "--breakdown", str(trace)
    )
    head = "rank  begins (ms)  lasts (ms)  usually (ms)  others wait (ms)  ranks  where"
    assert head in ran.out
    row = ran.out[ran.out.index(head) :].splitlines()[1].split()
    assert row[0] == "2" and row[2] == "30.000" and row[5] == "3"
    assert " ".join(row[6:]) == "line 24 of the rank's trace"


def test_places_in_words(tmp_path: Path) -> None:
    (one,) = (
        replayed(sweep(tmp_path / "t", 4, {(2, 7): 30_000_000}), 4).require_event_log().outliers
    )
    paths = {(2, 23): "main (a.c:1)", (2, 25): "main (a.c:9)"}
    assert describe_location(one, paths) == "between main (a.c:1) and main (a.c:9)"
    assert describe_location(one, {(2, 25): "main (a.c:9)"}) == "before main (a.c:9)"
    assert describe_location(one, {(2, 24): "work (a.c:5)"}) == "at work (a.c:5)"
    assert format_ranks([1, 2, 3, 7, 9, 10]) == "1 to 3, 7, 9 to 10"
