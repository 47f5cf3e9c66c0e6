"""The counts of a result, for programs that can be counted by hand."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.support import RING, ROOT, write_ranks
from tisim.analysis.result_json import COLUMNS
from tisim.commands.cli import main
from tisim.kernel import Environment

BACKBONE = tisim.Platform.load(ROOT / "platforms" / "backbone.xml")


def replay(directory: Path, *ranks: str, **options: Any) -> tisim.Result:
    return tisim.replay(write_ranks(directory, *ranks), platform=BACKBONE, **options)


def counts(result: tisim.Result) -> list[tuple[int, int]]:
    """Return the number of messages and bytes sent by each rank."""
    pairs = zip(result.messages_sent.tolist(), result.bytes_sent.tolist(), strict=True)
    return list(pairs)


def test_messages_between_two_ranks(tmp_path: Path) -> None:
    result = replay(
        tmp_path,
        "send 1 0 100;isend 1 0 10 1;wait 0 1 0;send -666 0 50;sendRecv 7 1 3 1 6 6",
        "recv 0 0 100;recv 0 0 10 1;sendRecv 3 0 7 0 6 6",
    )
    assert counts(result) == [(3, 147), (1, 3)]  # the ten of the isend have 4 bytes each


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # A binomial tree: the root has two children, one of which has one.
        ("bcast 100", [(2, 200), (0, 0), (1, 100), (0, 0)]),
        ("bcast 100 1", [(0, 0), (2, 200), (0, 0), (1, 100)]),
        ("gather 100 100", [(0, 0), (1, 100), (1, 100), (1, 100)]),
        ("scatter 100 100 3", [(0, 0), (0, 0), (0, 0), (3, 300)]),
        ("alltoall 1000 1000", [(3, 3000)] * 4),
        ("gatherv 1 1 2 3 4", [(0, 0), (1, 1), (1, 1), (1, 1)]),
    ],
)
def test_messages_of_collectives(
    tmp_path: Path, line: str, expected: list[tuple[int, int]]
) -> None:
    assert counts(replay(tmp_path, *[line] * 4)) == expected


def test_actions_are_lines(tmp_path: Path) -> None:
    """A line for several operations counts as one action, and so do lines without effect."""
    result = replay(
        tmp_path,
        "init;compute 1;sendRecv 1 1 1 1 6 6;allreduce 8 100;finalize",
        "sendRecv 1 0 1 0 6 6;allreduce 8 100",
    )
    assert result.rank_actions.tolist() == [5, 2]
    assert result.actions == 7


def test_where_the_time_goes(tmp_path: Path) -> None:
    result = replay(
        tmp_path,
        "compute 2e9;sleep 0.5;allreduce 8 1e9",
        "compute 1e9;allreduce 8 1e9;compute 3e9",
    )
    assert result.compute.tolist() == pytest.approx([3.0, 5.0], rel=1e-12)
    assert result.other.tolist() == pytest.approx([0.5, 0.0], abs=1e-12)
    assert result.communication[0] == pytest.approx(0, abs=0.01)
    assert result.communication[1] == pytest.approx(1.5, abs=0.01)
    assert result.simulated_time == result.finish.max() == result.finish[1]


def test_times_add_up_in_frames_and_in_json(tmp_path: Path) -> None:
    result = replay(tmp_path, "compute 2e9;sleep 0.5;bcast 1e6", "sleep 0.25;bcast 1e6;compute 1e9")
    frame = result.ranks
    parts = frame["compute"] + frame["communication"] + frame["other"]
    assert parts.tolist() == pytest.approx(frame["finish"].tolist(), rel=1e-15)
    assert frame["other"].tolist() == [0.5, 0.25]
    for row in json.loads(result.to_json())["ranks"]:
        parts = row["compute"] + row["communication"] + row["other"]
        assert parts == pytest.approx(row["finish"], rel=1e-15)
        assert row["other"] == (0.5, 0.25)[row["rank"]]


def test_a_result_that_begins_later_adds_up(tmp_path: Path) -> None:
    first = replay(tmp_path, "compute 1e9;sleep 0.5")
    env = Environment(BACKBONE)
    env.run(until=10)
    second = env.run(env.replay(tmp_path))
    assert second.finish == pytest.approx(first.finish, rel=1e-12)
    assert second.column("finish").tolist() == second.finish.tolist()


@pytest.mark.parametrize("event_log", [False, True])
def test_json_is_read_as_it_was_written(event_log: bool, tmp_path: Path) -> None:
    (tmp_path / "trace").mkdir()
    result = replay(
        tmp_path / "trace",
        "compute 2e9;sleep 0.5;bcast 1e6;send 1 0 100 -1",
        "bcast 1e6;recv 0 0 100 -1",
        config={"smpi/os": "0:1e-6:2e-9;1024:3e-6:0", "smpi/cpu-threshold": 1},
        event_log=event_log,
    )
    file = tmp_path / "result.json"
    file.write_text(result.to_json())
    for source in (file, str(file), result.to_json()):
        read = tisim.Result.from_json(source)
        assert read == result
        assert read.to_json() == result.to_json()
        assert read.finish.tolist() == result.finish.tolist()
        assert read.ranks.equals(result.ranks)
        assert (read.config, read.warnings) == (result.config, result.warnings)
        assert ("breakdown" in read.to_dict()) is event_log
    assert result.warnings  # an unknown type, so that there is a warning
    with pytest.raises(tisim.TisimError, match="no event log"):
        _ = read.breakdown


def test_what_the_command_wrote_is_read(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    platform = str(ROOT / "platforms" / "backbone.xml")
    with pytest.raises(SystemExit, match="0"):
        main(["replay", "--platform", platform, "--json", str(file), str(RING)])
    read = tisim.Result.from_json(file)
    assert read.finish.tolist() == tisim.replay(RING, platform=BACKBONE).finish.tolist()
    assert read.version == tisim.__version__


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2]", "this is not a result"),
        ('{"ranks": []}', "this is not a result"),
        ("{", "this is not JSON: .*; write a result with: tisim replay --json FILE"),
        (
            '{"ranks": [{"rank": 0, "host": "a", "finish": "x", "compute": 0, "communication": 0}'
            "]}",
            "this is not a result",
        ),
    ],
)
def test_what_is_no_result(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(tisim.InputError, match=rf"x\.json(:1)?: {message}"):
        tisim.Result.from_json(tmp_path / "x.json")
    with pytest.raises(tisim.InputError, match="cannot read this result: No such file"):
        tisim.Result.from_json(tmp_path / "nowhere.json")


@pytest.mark.parametrize("event_log", [False, True])
def test_results_pickle(event_log: bool, tmp_path: Path) -> None:
    """They are equal in another process, but without the event log."""
    (tmp_path / "trace").mkdir()
    result = replay(tmp_path / "trace", "compute 1e9;sleep 0.5", event_log=event_log)
    _ = result.ranks, result.finish
    copy = pickle.loads(pickle.dumps(result))
    assert copy == result
    assert copy.event_log is None
    assert copy.ranks.equals(result.ranks)
    (tmp_path / "result.pickle").write_bytes(pickle.dumps(result))
    code = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')).to_json())"
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "result.pickle")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == result.to_json() + "\n"


def test_results_that_differ_are_not_equal(tmp_path: Path) -> None:
    result = replay(tmp_path, "compute 1e9")
    copy = pickle.loads(pickle.dumps(result))
    copy.wall_time += 1
    assert copy != result
    assert result != 1


def test_a_result_needs_no_numpy_until_an_array_is_asked_for() -> None:
    code = (
        "import sys; from array import array; from tisim.analysis.result import Result;"
        " from tisim.analysis.result_json import COLUMNS\n"
        "columns = {name: array('q' if '_' in name or name == 'actions' else 'd', [1])"
        " for name in COLUMNS}\n"
        "result = Result(columns, ['a'], config={})\n"
        "result.to_json(), result.simulated_time, result.actions, repr(result)\n"
        "print('numpy' in sys.modules); result.finish; print('numpy' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]


def test_ranks_are_a_frame(tmp_path: Path) -> None:
    result = replay(tmp_path, "compute 1e9", "sleep 2", hosts=["c-7.me"])
    frame = result.ranks
    assert tuple(frame.columns) == COLUMNS
    assert frame["rank"].tolist() == [0, 1]
    assert frame["host"].tolist() == ["c-7.me", "c-7.me"]
    assert frame["finish"].tolist() == [1.0, 2.0]
    assert frame["compute"].tolist() == [1.0, 0.0]
    assert result.wall_time > 0
    assert repr(result) == "<Result: 2 s simulated, 2 ranks, 2 actions>"


def test_arguments_that_contradict(tmp_path: Path) -> None:
    with pytest.raises(tisim.InputError, match="give --deployment or --hosts, not both"):
        replay(tmp_path, "compute 1", hosts=["c-0.me"], deployment="d.xml")
