"""Replays of calls of MPI-IO: who waits for whom, positions, lengths; and what a check says."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tests.unit.io.conftest import Replay
from tisim.errors import DiskFullError, InputError, SimulationError
from tisim.traces import check, pack

OPEN = "file_open 0 /scratch/f rwc"
# Time of a call's barriers, on a disk that takes seconds.
BARRIERS = 1e-3


def test_a_collective_write_waits_for_all_ranks_and_then_all_write(replay: Replay) -> None:
    late = f"{OPEN}; compute 2e9; file_write_at_all 0 40 40; file_close 0"
    result = replay(f"{OPEN}; file_write_at_all 0 40 0; file_close 0", late)
    # From second 2 on two ranks share 80 bytes a second.
    assert result.simulated_time == pytest.approx(3.0, abs=BARRIERS)


def test_an_independent_write_waits_for_nobody(replay: Replay) -> None:
    early = f"{OPEN}; file_write_at 0 40 0"
    result = replay(early, f"{OPEN}; compute 2e9; file_write_at 0 40 40")
    assert result.finish.tolist() == pytest.approx([0.5, 2.5], abs=BARRIERS)


def test_only_the_communicator_waits(replay: Replay) -> None:
    split = "comm_split 0 1 {} 0"
    text = (
        "file_open 0 /scratch/f.%d wc comm=1; {}; file_write_all 0 80 comm=1; file_close 0 comm=1"
    )
    ranks = [
        f"{split.format(rank)}; {text.format('compute 3e9' if rank else 'sleep 0')}"
        for rank in range(2)
    ]
    result = replay(*ranks)
    assert result.finish.tolist() == pytest.approx([1.0, 4.0], abs=BARRIERS)


@pytest.mark.parametrize("action", ["file_write_shared", "file_write_ordered"])
def test_ranks_share_a_position(replay: Replay, action: str) -> None:
    rank = f"{OPEN}; {action} 0 30; {action} 0 30; file_sync 0; file_seek 0 0 end"
    read = f"{rank}; file_seek 0 -120 cur; file_read 0 120; file_close 0"
    assert replay(read, read).io is not None
    with pytest.raises(InputError, match="reads 121 bytes"):
        replay(read.replace("file_read 0 120", "file_read 0 121"), rank)


def test_a_shared_position_is_moved_by_all(replay: Replay) -> None:
    rank = f"{OPEN}; file_write_all 0 50; file_seek_shared 0 20; file_read_ordered 0 15"
    replay(rank, rank)
    with pytest.raises(InputError, match="reads 15 bytes from offset 45"):
        more = rank.replace("0 20", "0 30")
        replay(more, more)


def test_lengths(replay: Replay) -> None:
    made = f"{OPEN}; file_set_size 0 100; file_read_at 0 100 0; file_set_size 0 60; file_read_at 0"
    replay(f"{made} 60 0", f"{made} 60 0")
    with pytest.raises(InputError, match="ends at 60"):
        replay(f"{made} 61 0", f"{made} 60 0")
    with pytest.raises(DiskFullError, match="file_preallocate of 1001 bytes"):
        replay(*2 * [f"{OPEN}; file_preallocate 0 1001"])
    replay(*2 * [f"{OPEN}; file_preallocate 0 1000; file_read_at 0 10 990; file_set_view 0"])


def _findings(tmp_path: Path, *ranks: str) -> list[str]:
    trace = tmp_path / "trace.txt"
    lines = (f"{rank} {line}\n" for rank, text in enumerate(ranks) for line in text.split("; "))
    trace.write_text("".join(lines))
    return [finding.message for finding in check(tisim.Trace.open(trace)).findings]


def test_a_check_follows_handles_and_the_order_of_collective_calls(tmp_path: Path) -> None:
    sound = f"{OPEN}; file_write_ordered 0 50; file_close 0"
    assert _findings(tmp_path, sound, sound) == []
    twice = _findings(tmp_path, f"{sound}; file_close 0", f"{sound}; file_close 0")
    assert len(twice) == 2
    assert "file_close of handle 0, which line 3 has closed" in twice[0]
    alone = _findings(tmp_path, sound, f"{OPEN}; file_close 0")
    assert any("rank" in message for message in alone)


def test_a_rank_that_does_not_come_is_a_deadlock(replay: Replay) -> None:
    with pytest.raises(SimulationError, match="barrier"):
        replay(f"{OPEN}; file_write_all 0 50", OPEN)


def test_packed_traces_are_replayed_alike(replay: Replay, tmp_path: Path) -> None:
    ranks = [
        f"{OPEN}; file_write_at_all 0 40 {40 * rank}; "
        f"file_read_at_all 0 {10 + rank} 0; file_close 0"
        for rank in range(4)
    ]
    text = replay(*ranks)
    packed = tmp_path / "packed.tit"
    pack(tmp_path / "trace.txt", packed)
    again = tisim.replay(packed, platform=tmp_path / "platform.xml", hosts=["a"] * 4)
    assert again.finish.tolist() == text.finish.tolist()
    assert again.io is not None
    assert text.io is not None
    assert again.io == text.io
    assert again.io["bytes_written"] == [40] * 4
    assert again.io["bytes_read"] == [10, 11, 12, 13]
