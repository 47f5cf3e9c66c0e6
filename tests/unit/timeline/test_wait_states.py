"""Wait states of small programs, computed by hand."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

import tisim
from tests.support import write_ranks

# Calls cost nothing, and computing so many flops takes so many seconds.
FREE = {"smpi/os": "0:0:0", "smpi/ois": "0:0:0", "smpi/or": "0:0:0"}
MACHINE = """<?xml version='1.0'?>
<platform version="4.1">
  <cluster id="c" prefix="c-" suffix="" radical="0-7" speed="1f" bw="1GBps" lat="1us"/>
</platform>
"""

Row = tuple[str, str, int, int, float]


def replay(directory: Path, *ranks: str, **options: str) -> tisim.Result:
    """Replay programs of one line a rank, their actions parted by ``;``."""
    (directory / "machine.xml").write_text(MACHINE)
    traces = write_ranks(directory / "traces", *ranks)
    machine = directory / "machine.xml"
    return tisim.replay(traces, platform=machine, config=FREE | options, event_log=True)


def waits(result: tisim.Result, least: float = 0.01) -> set[Row]:
    """State, kind, rank, cause and seconds of the waits that are no matter of microseconds."""
    rows: Iterable[Row] = result.waits[["state", "kind", "rank", "cause", "seconds"]].itertuples(
        index=False, name=None
    )
    return {(*row[:4], round(row[4], 3)) for row in rows if row[4] > least}


def test_late_sender(tmp_path: Path) -> None:
    """The receiver comes at 1 s, the sender at 4 s."""
    result = replay(tmp_path, "compute 4;send 1 0 1000000 6", "compute 1;recv 0 0 1000000 6")
    assert waits(result) == {("late sender", "recv", 1, 0, 3.0)}
    (wait,) = result.waits["seconds"]
    assert wait == pytest.approx(3.0, abs=1e-12)


def after(call: str, *seconds: int) -> list[str]:
    """Programs of ranks that make a call, each after it has computed for some seconds."""
    return [f"compute {one};{call}" for one in seconds]


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
    """The root waits until the last of those has come whose data it collects."""
    result = replay(tmp_path, *after("reduce 8 0 0 6", 1, 2, 2, 9))
    assert result.breakdown.by_rank["early reduce"][0] == pytest.approx(8, abs=1e-3)
    assert result.waits.iloc[0][["rank", "state"]].tolist() == [0, "early reduce"]


def test_ranks_that_meet_before_a_collective(tmp_path: Path) -> None:
    """`smpi/barrier-collectives`: the last to come is the cause, and on the critical path."""
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
    (tmp_path / "deploy.xml").write_text(
        "<?xml version='1.0'?><platform version='4.1'><actor host='c-0' function='0' "
        "start_time='3'/><actor host='c-1' function='1'/></platform>"
    )
    (tmp_path / "machine.xml").write_text(MACHINE)
    (tmp_path / "trace").write_text("0 compute 1\n0 send 1 0 8 6\n1 recv 0 0 8 6\n")
    result = tisim.replay(
        tmp_path / "trace",
        platform=tmp_path / "machine.xml",
        deployment=tmp_path / "deploy.xml",
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
    """Two ranks that wake each other by their answers, before any byte moves, wait for neither."""
    result = replay(tmp_path, *ranks, **{"network/ordering": "fifo"})
    assert result.critical_path.length == pytest.approx(result.simulated_time, rel=1e-12)
    assert waits(result) == expected
