"""A full disk ends a simulation as a deadlock does: when, who, where, and what the others do."""

from __future__ import annotations

import json
import pickle
from collections.abc import Generator
from pathlib import Path

import pytest
import simpy

from tests.support import write_trace
from tests.unit.io.conftest import PLATFORM, Replay
from tisim.commands import cli
from tisim.errors import DiskFullError, InputError

OPEN = "file_open 0 /scratch/f rwc"


def test_the_report_says_what_all_ranks_do(replay: Replay) -> None:
    with pytest.raises(DiskFullError) as raised:
        replay(
            "open 3 f wc; write 3 320; recv 1 7 8",
            "compute 1e9; open 3 g wc; write 3 681; send 0 7 8",
            "compute 3e9",
            "sleep 5",
            "open 3 h r; pread 3 900 0; barrier",
            "barrier",
        )
    head, *lines = str(raised.value).splitlines()
    assert head == "disk 'd' of host 'a' at /scratch is full at 2 s: 320 of 1000 bytes are in use"
    places = [line.split("trace.txt:")[1] for line in lines]
    assert places == [
        "6: rank 1: write of 681 bytes to 'g' from offset 0 wants 681 bytes more",
        *(
            f"{line}: rank {rank}: {text}"
            for line, rank, text in [
                (2, 0, "write waits for its disk"),
                (8, 2, "is in compute, which goes on"),
                (9, 3, "is in sleep, which goes on"),
                (11, 4, "pread waits for its disk"),
                (13, 5, "barrier waits for the other ranks; ranks 0, 1, 2, 3, 4 do not reach it"),
            ]
        ),
    ]
    assert raised.value.details["wanted"] == 681
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.details) == (str(raised.value), raised.value.details)


@pytest.mark.parametrize(
    ("ranks", "call"),
    [
        ([f"{OPEN}; compute 1e9; file_iwrite_at 0 1001 0"], "3: rank 0: file_iwrite_at of 1001"),
        (["open 3 f wc; write 3 600; pwrite 3 800 500"], "3: rank 0: pwrite of 800 bytes to 'f'"),
        ([f"{OPEN}; file_write_at_all 0 1001 0"], "2: rank 0: file_write_at_all of 1001 bytes"),
    ],
)
def test_every_call_that_writes(replay: Replay, ranks: list[str], call: str) -> None:
    with pytest.raises(DiskFullError, match=rf"is full at(.|\n)*trace.txt:{call}"):
        replay(*ranks)


def test_only_what_a_file_grows_by_takes_room(replay: Replay) -> None:
    with pytest.raises(DiskFullError) as raised:
        replay("open 3 f wc; write 3 600; pwrite 3 800 500")
    details = raised.value.details
    assert (details["used"], details["offset"], details["bytes"]) == (600, 500, 800)
    assert details["wanted"] == 700


def test_an_aggregator_finds_its_disk_full(replay: Replay) -> None:
    ranks = [f"{OPEN}; file_write_at_all 0 600 {600 * rank}" for rank in range(2)]
    config = {"tisim/collective-io": "romio", "tisim/cb-write": "enable"}
    message = "2: rank 0: the collective write of 1200 bytes"
    with pytest.raises(DiskFullError, match=message) as full:
        replay(*ranks, config=config)
    assert "4: rank 1: the collective write waits for the other ranks" in str(full.value)


def test_processes_on_the_same_clock_end_with_it(tmp_path: Path) -> None:
    import tisim
    from tisim.kernel import Environment

    (tmp_path / "platform.xml").write_text(PLATFORM)
    write_trace(tmp_path, "open 3 f wc; write 3 1001")
    env = Environment(tisim.Platform.load(tmp_path / "platform.xml"))

    def run() -> Generator[simpy.Event, None, None]:
        yield env.timeout(2)
        yield env.replay(tmp_path / "trace.txt", ["a"])

    env.process(run())
    with pytest.raises(DiskFullError, match="is full at 2 s"):
        env.run()


def _status(tmp_path: Path, lines: str, *options: str) -> int:
    (tmp_path / "platform.xml").write_text(PLATFORM)
    write_trace(tmp_path, lines)
    (tmp_path / "hosts").write_text("a\n")
    place = [f"{tmp_path}/{name}" for name in ("platform.xml", "hosts", "trace.txt")]
    with pytest.raises(SystemExit) as ended:
        cli.main(["replay", "--platform", place[0], "--hosts", place[1], *options, place[2]])
    return int(str(ended.value.code))


def test_exit_statuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """1 if a larger disk would do, 2 if the trace is wrong on any machine."""
    assert _status(tmp_path, "open 3 f wc; write 3 1000") == 0
    assert _status(tmp_path, "open 3 f wc; write 3 1001") == 1
    assert capsys.readouterr().err.startswith("tisim: disk 'd' of host 'a' at /scratch is full at")
    assert _status(tmp_path, "open 3 f rwc; write 3 9; pread 3 5 5") == 2
    assert "reads 5 bytes from offset 5 of 'f'" in capsys.readouterr().err


def test_json_says_why_a_simulation_ended(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    assert _status(tmp_path, "sleep 2; open 3 f wc; write 3 1001", "--json", str(out)) == 1
    error = json.loads(out.read_text())["error"]
    message = error.pop("message")
    assert "wants 1001 bytes more" in message
    assert error == {
        "kind": "DiskFullError",
        "simulated_time": 2.0,
        "rank": 0,
        "call": "write",
        "trace": str(tmp_path / "trace.txt"),
        "line": 3,
        "file": "f",
        "disk": "disk 'd' of host 'a'",
        "mount": "/scratch",
        "capacity": 1000.0,
        "used": 0.0,
        "offset": 0,
        "bytes": 1001,
        "wanted": 1001,
    }
    assert _status(tmp_path, "open 3 f wc; recv 0 1 8", "--json", str(out)) == 1
    error = json.loads(out.read_text())["error"]
    assert error["kind"] == "SimulationError"
    assert "deadlock" in error["message"]


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("file_write_at 7 10 0", r"txt:4: file_write_at of handle 7, which no line has opened"),
        (
            f"{OPEN}; open 0 /scratch/g wc",
            r"txt:5: opens handle 0, which is open since line 4",
        ),
        ("open 1 f wc; close 1; close 1", r"txt:6: close of handle 1, which line 5 has closed"),
        ("open 1 f wc; write 1 9; pread 1 5 5", "without the flag r"),
        ("open 1 f rwc; write 1 9; pread 1 5 5", r"txt:6: reads 5 bytes .* which ends at 9"),
        ("file_open 1 /home/f wc", r"txt:4: no disk of host 'a' holds '/home/f'"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(replay: Replay, second: str, message: str) -> None:
    first = OPEN if second.startswith("file_open 0") or "file_open" in second else "sleep 0"
    with pytest.raises(InputError, match=message):
        replay(f"{first}; sleep 0; sleep 0", second)
