"""Collective calls of MPI-IO in two steps: when the work is done, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tests.unit.io.conftest import Replay
from tisim.errors import InputError
from tisim.traces import Trace, check, pack

OPEN = "file_open 0 /scratch/f rwc"
# Time of a call's barriers, on a disk that takes seconds.
BARRIERS = 1e-3


def _split(rank: int, between: str = "sleep 2") -> str:
    """Write 80 bytes, a second of the disk, while the rank sleeps for two."""
    return (
        f"{OPEN}; file_write_at_all_begin 0 80 {80 * rank}; {between}; "
        "file_write_at_all_end 0; file_close 0"
    )


@pytest.mark.parametrize(("way", "seconds"), [("independent", 4.0), ("romio", 4.0), ("ompio", 2.0)])
def test_libraries_do_the_work_when_they_do(replay: Replay, way: str, seconds: float) -> None:
    # Two ranks write for two seconds, and sleep for two: OMPIO at once.
    result = replay(*map(_split, range(2)), config={"tisim/collective-io": way})
    assert result.finish.tolist() == pytest.approx([seconds] * 2, abs=BARRIERS)
    assert result.io is not None
    assert result.io["bytes_written"] == [80, 80]


def test_the_second_step_waits_for_what_is_left(replay: Replay) -> None:
    config = {"tisim/collective-io": "ompio"}
    ranks = [_split(rank, "sleep 0.5") for rank in range(2)]
    result = replay(*ranks, config=config)
    assert result.finish.tolist() == pytest.approx([2.0] * 2, abs=BARRIERS)
    assert result.io is not None
    assert result.io["seconds"] == pytest.approx([1.5] * 2, abs=BARRIERS)
    # The first step waits for nobody.
    late = [f"{OPEN}; sleep {3 * rank}; " + _split(rank).split("; ", 1)[1] for rank in range(2)]
    finish = replay(*(one.replace("; file_close 0", "") for one in late), config=config).finish
    assert finish.tolist() == pytest.approx([2.0, 5.0], abs=BARRIERS)


def test_nothing_is_written_by_an_empty_part(replay: Replay) -> None:
    empty = f"{OPEN}; file_write_all_begin 0 0; file_write_all_end 0"
    for way in ("independent", "romio", "ompio"):
        result = replay(empty, empty, config={"tisim/collective-io": way})
        assert result.simulated_time < BARRIERS


def _findings(tmp_path: Path, text: str) -> list[str]:
    trace = tmp_path / "trace.txt"
    trace.write_text("".join(f"0 {line}\n" for line in text.split("; ")))
    return [finding.message for finding in check(Trace.open(trace)).findings]


BAD = [
    ("file_write_all_end 0", "where no file_write_all_begin is under way"),
    ("file_write_all_begin 0 8; file_write_all 0 8; file_write_all_end 0", "while the"),
    ("file_write_all_begin 0 8; file_write_at_all_end 0", "end that with file_write_all_end"),
    ("file_write_all_begin 0 8; file_close 0", "file_close of handle 0 while the"),
    ("file_write_all_begin 0 8; file_write_all_begin 0 8", "end it with file_write_all_end"),
]


@pytest.mark.parametrize(("calls", "message"), BAD)
def test_steps_that_do_not_fit_are_errors(
    replay: Replay, tmp_path: Path, calls: str, message: str
) -> None:
    assert message in _findings(tmp_path, f"{OPEN}; {calls}")[0]
    for way in ("independent", "romio", "ompio"):
        with pytest.raises(InputError, match=message):
            replay(f"{OPEN}; {calls}", config={"tisim/collective-io": way})


def test_other_calls_may_stand_between(replay: Replay, tmp_path: Path) -> None:
    text = f"{OPEN}; file_write_all_begin 0 8; file_write_at 0 8 100; file_write_all_end 0"
    assert _findings(tmp_path, text) == []
    replay(text)


def test_steps_in_a_loop_are_checked_and_packed(replay: Replay, tmp_path: Path) -> None:
    turn = "file_write_all_begin 0 8; compute 1; file_write_all_end 0; "
    ranks = [f"{OPEN}; file_seek 0 {1000 * rank}; {100 * turn}file_close 0" for rank in range(2)]
    text = replay(*ranks)
    packed = tmp_path / "packed.tit"
    pack(tmp_path / "trace.txt", packed)
    assert check(Trace.open(packed)).sound
    again = tisim.replay(packed, platform=tmp_path / "platform.xml", hosts=["a"] * 2)
    assert again.finish.tolist() == text.finish.tolist()
