"""What ranks do with files in the words of POSIX."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tests.support import platform_file, write_trace
from tests.unit.io.conftest import Replay, packed_again
from tisim import traces as formats
from tisim.analysis.result import Result
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
    # The other host has another disk, on which a file of that name was before.
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
    """A read ends where the file does: positions are as they should be."""
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
        ("write 3 8", "1: write of handle 3, which no line has opened"),
        ("open 3 f; close 3; close 3", "3: close of handle 3, which line 2 has closed"),
        ("open 3 f; open 3 g", "2: opens handle 3, which is open since line 1"),
        ("open 3 f; write 3 8", "2: write of handle 3, which line 1 opens without the flag w"),
        ("open 3 f wc; read 3 8", "2: read of handle 3, which line 1 opens without the flag r"),
        (
            "open 3 /home/f wc",
            "1: no disk of host 'a' holds '/home/f': its disks are mounted at /s",
        ),
        ("open 3 f wc; close 3; open 3 f wcx", "3: creates 'f', which exists"),
        ("open 3 f; lseek 3 0 end", "2: lseek from the end of 'f', whose length is not known"),
        ("open 3 f; lseek 3 -1 cur", "2: lseek by -1 from 0 does not end in a file"),
        (
            "open 3 f size=9; lseek 3 0 end; read 3 1",
            "3: reads 1 bytes from offset 9 of 'f', which",
        ),
        ("open 3 f.%s wc", "1: in the name 'f.%s' a % is followed by d or 0Nd"),
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
    with pytest.raises(InputError, match="no disk of host 'c' holds 'f': it has none"):
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
    assert "which line 2 has closed" in found[0][1]
    assert "without the flag w" in found[1][1]


def test_a_check_of_loops_names_the_right_line(tmp_path: Path) -> None:
    lines = ["open 3 f wc", "write 3 8", "close 3"] * 50 + ["close 3"]
    trace, packed = write_trace(tmp_path, lines), tmp_path / "trace.tit"
    formats.pack(trace, packed)
    for name in (trace, packed):
        (finding,) = formats.check(name).findings
        assert (finding.line, finding.message.partition(";")[0]) == (
            151,
            "close of handle 3, which line 150 has closed",
        )


def test_files_are_executed_in_a_directory_that_is_named(tmp_path: Path) -> None:
    trace = write_trace(tmp_path, "open 3 f wc")
    with pytest.raises(
        InputError, match=r"trace.txt:1: the action open works on a file; name a dir"
    ):
        write_scripts(formats.Trace.open(trace), tmp_path)
    write_scripts(formats.Trace.open(trace), tmp_path, files=True)
