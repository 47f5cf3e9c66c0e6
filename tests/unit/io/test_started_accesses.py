"""Reads and writes of MPI-IO that ranks do not wait for at once: requests, waits and tests."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tests.unit.io.conftest import Replay
from tisim.errors import InputError
from tisim.traces import check, pack

OPEN = "file_open 0 /scratch/f rwc"
# Time of the barrier of file_open.
BARRIER = 1e-3


def test_a_write_goes_on_while_its_rank_computes(replay: Replay) -> None:
    write = f"{OPEN}; file_iwrite_at 0 160 0 request=3"  # 2 s on the disk
    for rest, end in (
        ("compute 3e9; wait request=3", 3.0),
        ("compute 1e9; wait request=3", 2.0),
        ("compute 1e9; waitall", 2.0),
        ("compute 1e9; waitany requests=3", 2.0),
        ("compute 1e9", 2.0),  # what is pending at the end is waited for
        ("test request=3; compute 1e9; waitall requests=3; compute 1e9", 3.0),
    ):
        assert replay(f"{write}; {rest}").simulated_time == pytest.approx(end, abs=BARRIER), rest


def test_accesses_under_way_share_the_disk(replay: Replay) -> None:
    two = f"{OPEN}; file_iwrite 0 80 request=0; file_iwrite 0 40 request=1"
    result = replay(f"{two}; wait request=1; compute 2e9; wait request=0")
    # Both have 40 bytes a second up to second 1, when the shorter one ends.
    assert result.simulated_time == pytest.approx(3.0, abs=BARRIER)
    assert replay(f"{two}; waitall").simulated_time == pytest.approx(1.5, abs=BARRIER)
    io = replay(f"{two}; waitall").io
    assert io is not None
    assert (io["seconds"], io["bytes_read"]) == ([0.0], [0])
    assert (io["bytes_written"], io["calls"]) == ([120], [3])
    (file,) = io["files"]
    assert (file["seconds"], file["writes"]["calls"]) == (0.0, 2)
    assert sum(file["writes"]["over_time"]) == pytest.approx(120)


def test_positions_move_at_once(replay: Replay) -> None:
    replay(f"{OPEN}; file_iwrite 0 30; file_iwrite 0 30; file_iread_at 0 60 0; waitall")
    with pytest.raises(InputError, match="reads 61 bytes from offset 0"):
        replay(f"{OPEN}; file_iwrite 0 30; file_iwrite 0 30; file_iread_at 0 61 0; waitall")
    shared = f"{OPEN}; file_iwrite_shared 0 30 request=0; wait request=0; file_sync 0"
    replay(*2 * [f"{shared}; file_read_at 0 60 0"])
    nothing = f"{OPEN}; file_iwrite_all 0 0 request=0; wait request=0; file_close 0"
    assert replay(nothing).simulated_time < BARRIER


def test_requests_of_files_and_messages_are_waited_for_together(replay: Replay) -> None:
    first = f"{OPEN}; file_iwrite_at_all 0 80 0 request=0; irecv 1 0 8 request=1; "
    second = f"{OPEN}; compute 2e9; send 0 0 8"
    ends = replay(first + "waitall requests=0,1", second).finish.tolist()
    assert ends == pytest.approx([2.0, 2.0], abs=2 * BARRIER)
    ends = replay(first + "waitany requests=1,0; compute 0; waitall", second).finish.tolist()
    assert ends == pytest.approx([2.0, 2.0], abs=2 * BARRIER)
    first = first.replace("request=1; ", "request=1; waitany requests=0,1; compute 5e8; waitall")
    ends = replay(first.replace("80 0", "40 0"), second).finish.tolist()
    # Both compute on one core from second 0.5 to 1.5.
    assert ends == pytest.approx([2.5, 2.5], abs=2 * BARRIER)


def _findings(tmp_path: Path, *ranks: str) -> list[str]:
    trace = tmp_path / "trace.txt"
    lines = (f"{rank} {line}\n" for rank, text in enumerate(ranks) for line in text.split("; "))
    trace.write_text("".join(lines))
    return [finding.message for finding in check(tisim.Trace.open(trace)).findings]


def test_a_check_follows_these_requests(tmp_path: Path) -> None:
    start = f"{OPEN}; file_iwrite_at 0 8 0 request=0"
    assert _findings(tmp_path, f"{start}; wait request=0; file_close 0") == []
    assert _findings(tmp_path, f"{start}; waitall; file_close 0") == []
    [left] = _findings(tmp_path, f"{start}; file_close 0")
    assert "posts a request that is never waited for" in left
    [twice] = _findings(tmp_path, f"{start}; file_iread 0 8 request=0; waitall; file_close 0")
    assert "request 0 is still pending since line 2" in twice
    [none] = _findings(tmp_path, f"{OPEN}; file_write 0 8 request=0; file_close 0")
    assert "file_write needs handle bytes" in none


def test_packed_traces_are_replayed_alike(replay: Replay, tmp_path: Path) -> None:
    ranks = [
        f"{OPEN}; file_iwrite_at 0 40 {40 * rank} request=0; compute 1e8; wait request=0; "
        f"file_iread_at_all 0 {10 + rank} 0 request=0; waitall requests=0; file_close 0"
        for rank in range(4)
    ]
    text = replay(*ranks)
    packed = tmp_path / "packed.tit"
    pack(tmp_path / "trace.txt", packed)
    again = tisim.replay(packed, platform=tmp_path / "platform.xml", hosts=["a"] * 4)
    assert again.finish.tolist() == text.finish.tolist()
    assert again.io == text.io
