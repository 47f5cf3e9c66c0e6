"""File accesses with POSIX calls, until a disk is full."""

from __future__ import annotations

import json
import pickle
from collections.abc import Generator
from pathlib import Path

import pytest
import simpy

import tisim
from tests.support import platform_file, write_trace
from tests.unit.io.conftest import PLATFORM, Replay, packed_again
from tisim import traces as formats
from tisim.analysis.result import Result
from tisim.commands import cli
from tisim.errors import DiskFullError, InputError
from tisim.traces.script import write_scripts

CHECKPOINT = """mkdir out; open 3 out/%05d rwct; write 3 80; pread 3 40 10; lseek 3 0 set;
    read 3 40; fsync 3; close 3; stat out/x; unlink out/%05d"""


def test_reads_and_writes_take_their_time(replay: Replay) -> None:
    result = replay(CHECKPOINT)
    assert result.simulated_time == pytest.approx(1.4, rel=1e-12)
    assert result.io is not None
    assert result.io["seconds"] == [pytest.approx(1.4, rel=1e-12)]
    assert (result.io["bytes_read"], result.io["bytes_written"]) == ([80], [80])
    assert result.io["calls"] == [10]
    assert result.other.tolist() == [pytest.approx(1.4, rel=1e-12)]
    assert Result.from_json(result.to_json()) == result


def test_ranks_share_the_disk_of_their_host_only(replay: Replay) -> None:
    write = "open 3 f wc; write 3 80"
    assert replay(write, write).finish.tolist() == pytest.approx([2.0, 2.0])
    assert replay(write, write, hosts="ab").finish.tolist() == pytest.approx([1.0, 1.0])


def test_ranks_of_a_host_share_its_files(replay: Replay) -> None:
    writer = "open 3 /scratch/f wc; write 3 80; send 1 0 1"
    reader = "recv 0 0 1; open 7 /scratch/f; read 7 {}"
    assert replay(writer, reader.format(80)).simulated_time == pytest.approx(1.4, rel=1e-3)
    with pytest.raises(InputError, match=r"6: reads 81 bytes from offset 0 of '/scratch/f', which"):
        replay(writer, reader.format(81))
    # The other host has a different disk, which already contains a file of that name.
    assert replay(writer, reader.format(81), hosts="ab").simulated_time > 1.4


def test_a_trace_without_files_has_no_sums(replay: Replay) -> None:
    result = replay("compute 1e9")
    assert result.io is None
    assert "io" not in result.to_dict()


def test_where_the_time_goes(replay: Replay) -> None:
    result = replay(CHECKPOINT, "compute 1e9", event_log=True)
    by_kind = result.breakdown.by_kind
    assert by_kind.loc["write", "I/O"] == pytest.approx(1.0)
    assert by_kind.loc["pread", "I/O"] == by_kind.loc["read", "I/O"] == pytest.approx(0.2)
    assert result.critical_path.gains.loc["faster disks", "seconds"] == pytest.approx(1.4)


def test_positions(replay: Replay) -> None:
    """Reads end at the end of the file, which shows the positions."""
    start = "open 3 f rwct; write 3 100; "
    for moves in (
        "lseek 3 0; read 3 60; read 3 40",
        "lseek 3 -30 end; read 3 30",
        "lseek 3 -100 cur; lseek 3 60 cur; read 3 40",
        "pread 3 50 50; write 3 10; pread 3 10 100",
        "open 4 f wa; write 4 10; pread 3 110 0",
    ):
        replay(start + moves)
    for moves in (
        "read 3 1",
        "lseek 3 0; read 3 101",
        "pread 3 1 100",
        "lseek 3 -29 end;read 3 30",
    ):
        with pytest.raises(InputError, match="which ends at 100"):
            replay(start + moves)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("write 3 8", "1: write of handle 3, which no line opened"),
        ("open 3 f; close 3; close 3", "3: close of handle 3, which line 2 closed"),
        ("open 3 f; open 3 g", "2: opens handle 3, which has been open since line 1"),
        ("open 3 f; write 3 8", "2: write of handle 3, which line 1 opens without the flag w"),
        ("open 3 f wc; read 3 8", "2: read of handle 3, which line 1 opens without the flag r"),
        (
            "open 3 /home/f wc",
            "1: no disk of host 'a' contains '/home/f': its disks are mounted at /s",
        ),
        ("open 3 f wc; close 3; open 3 f wcx", "3: creates 'f', which exists"),
        ("open 3 f; lseek 3 0 end", "2: lseek from the end of 'f', whose length is unknown"),
        ("open 3 f; lseek 3 -1 cur", "2: lseek by -1 from 0 does not end within a file"),
        (
            "open 3 f size=9; lseek 3 0 end; read 3 1",
            "3: reads 1 bytes from offset 9 of 'f', which",
        ),
        ("open 3 f.%s wc", "1: in the name 'f.%s' a % must be followed by d or 0Nd"),
        ("open 3 f q", "1: flags 'q' are not letters of 'rwctax'"),
        ("open -1 f", "1: handle '-1' is not between 0 and 2147483647"),
        ("open 3", r"1: open needs handle name \[flags\] \[size=bytes\], got 1 argument"),
        ("pwrite 3 9", "1: pwrite needs handle bytes offset, got 2 arguments"),
    ],
)
def test_what_is_wrong_is_said(replay: Replay, lines: str, message: str) -> None:
    with pytest.raises(InputError, match=f"trace.txt:{message}"):
        replay(lines)


def test_a_host_without_disks_holds_no_file(replay: Replay) -> None:
    with pytest.raises(InputError, match="no disk of host 'c' contains 'f': it has none"):
        replay("open 3 f", hosts="c")


def test_room_that_is_given_back(replay: Replay) -> None:
    fill = "open 3 f rwct; write 3 1000; "
    for lines in ("close 3; unlink f", "unlink f; close 3", "open 4 f wt", "lseek 3 0"):
        replay(f"{fill}{lines}; open 5 g wc; write {3 if 'lseek' in lines else 5} 1000")
    with pytest.raises(DiskFullError, match="is full at"):
        replay(f"{fill}unlink f; open 5 g wc; write 5 1000")


def test_one_name_for_the_files_of_all_ranks(replay: Replay) -> None:
    lines = "open 3 f.%03d rwct; write 3 8; barrier; open 4 f.000; read 4 8"
    replay(lines, lines, lines)
    with pytest.raises(InputError, match=r"reads 9 bytes from offset 0 of 'f.000', which"):
        replay(lines, lines.replace("4 8", "4 9"))


def test_packed_traces_say_the_same(replay: Replay, tmp_path: Path) -> None:
    loop = "; ".join(["write 3 8", "pwrite 3 16 64", "lseek 3 8 cur"] * 40)
    lines = f"open 3 f.%05d rwct; {loop}; close 3"
    packed = packed_again(tmp_path, replay(lines, lines))
    formats.unpack(packed, tmp_path / "text")
    texts = [path.read_text() for path in sorted((tmp_path / "text").iterdir())]
    assert "".join(texts) == (tmp_path / "trace.txt").read_text()


def test_offsets_that_grow_with_the_rank(replay: Replay, tmp_path: Path) -> None:
    ranks = [f"open 3 f rwc; pwrite 3 10 {10 * rank}; pread 3 10 {10 * rank}" for rank in range(6)]
    packed_again(tmp_path, replay(*ranks))


def test_a_rank_that_dies_leaves_the_disk_to_the_others(tmp_path: Path, replay: Replay) -> None:
    replay("compute 1")  # writes the platform
    trace = write_trace(tmp_path, "open 3 f wc; write 3 240", "open 3 g wc; write 3 120")
    actors = '<actor host="a" function="0" kill_time="1"/><actor host="a" function="1"/>'
    deployment = platform_file(tmp_path, actors, "deployment.xml")
    result = tisim.replay(trace, platform=tmp_path / "platform.xml", deployment=deployment)
    assert result.finish.tolist() == pytest.approx([1.0, 2.0])


def test_a_check_finds_wrong_handles_without_a_replay(tmp_path: Path) -> None:
    trace = write_trace(tmp_path, "open 3 f wc; close 3; write 3 8", "open 3 f; write 3 8")
    found = [(finding.line, finding.message) for finding in formats.check(trace).findings]
    assert [line for line, _ in found] == [3, 5]
    assert "which line 2 closed" in found[0][1]
    assert "without the flag w" in found[1][1]


def test_a_check_of_loops_names_the_right_line(tmp_path: Path) -> None:
    lines = ["open 3 f wc", "write 3 8", "close 3"] * 50 + ["close 3"]
    trace, packed = write_trace(tmp_path, lines), tmp_path / "trace.tit"
    formats.pack(trace, packed)
    for name in (trace, packed):
        (finding,) = formats.check(name).findings
        assert (finding.line, finding.message.partition(";")[0]) == (
            151,
            "close of handle 3, which line 150 closed",
        )


def test_files_are_executed_in_a_directory_that_is_named(tmp_path: Path) -> None:
    trace = write_trace(tmp_path, "open 3 f wc")
    with pytest.raises(
        InputError, match=r"trace.txt:1: the action open works on a file; give a dir"
    ):
        write_scripts(formats.Trace.open(trace), tmp_path)
    write_scripts(formats.Trace.open(trace), tmp_path, files=True)


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
        "6: rank 1: write of 681 bytes to 'g' from offset 0 needs 681 more bytes",
        *(
            f"{line}: rank {rank}: {text}"
            for line, rank, text in [
                (2, 0, "write waits for its disk"),
                (8, 2, "is in compute, which is in progress"),
                (9, 3, "is in sleep, which is in progress"),
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
    """1 if a larger disk would suffice, 2 if the trace is invalid on any machine."""
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
    assert "needs 1001 more bytes" in message
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
        ("file_write_at 7 10 0", r"txt:4: file_write_at of handle 7, which no line opened"),
        (
            f"{OPEN}; open 0 /scratch/g wc",
            r"txt:5: opens handle 0, which has been open since line 4",
        ),
        ("open 1 f wc; close 1; close 1", r"txt:6: close of handle 1, which line 5 closed"),
        ("open 1 f wc; write 1 9; pread 1 5 5", "without the flag r"),
        ("open 1 f rwc; write 1 9; pread 1 5 5", r"txt:6: reads 5 bytes .* which ends at 9"),
        ("file_open 1 /home/f wc", r"txt:4: no disk of host 'a' contains '/home/f'"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(replay: Replay, second: str, message: str) -> None:
    first = OPEN if second.startswith("file_open 0") or "file_open" in second else "sleep 0"
    with pytest.raises(InputError, match=message):
        replay(f"{first}; sleep 0; sleep 0", second)
