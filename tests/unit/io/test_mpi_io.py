"""Replays of MPI-IO calls, also of generated traces: dependencies, positions, lengths."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tests.support import platform_file
from tests.unit.io.conftest import Replay, findings, packed_again
from tisim.errors import DiskFullError, InputError, SimulationError
from tisim.platform.deployment import Deployment
from tisim.traces import Trace, check
from tisim.traces.generate.patterns import ACCESSES, Access, Io

OPEN = "file_open 0 /scratch/f rwc"
# Maximum time of a call's barriers; the disk takes seconds.
BARRIERS = 1e-3


def test_a_collective_write_waits_for_all_ranks_and_then_all_write(replay: Replay) -> None:
    late = f"{OPEN}; compute 2e9; file_write_at_all 0 40 40; file_close 0"
    result = replay(f"{OPEN}; file_write_at_all 0 40 0; file_close 0", late)
    # From second 2 on, two ranks share 80 bytes/s.
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


def test_a_check_follows_handles_and_the_order_of_collective_calls(tmp_path: Path) -> None:
    sound = f"{OPEN}; file_write_ordered 0 50; file_close 0"
    assert findings(tmp_path, sound, sound) == []
    twice = findings(tmp_path, f"{sound}; file_close 0", f"{sound}; file_close 0")
    assert len(twice) == 2
    assert "file_close of handle 0, which line 3 closed" in twice[0]
    alone = findings(tmp_path, sound, f"{OPEN}; file_close 0")
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
    result = replay(*ranks)
    packed_again(tmp_path, result)
    assert result.io is not None
    assert result.io["bytes_written"] == [40] * 4
    assert result.io["bytes_read"] == [10, 11, 12, 13]


def _split(rank: int, between: str = "sleep 2") -> str:
    """Write 80 bytes (one second of the disk) while the rank sleeps for two seconds."""
    return (
        f"{OPEN}; file_write_at_all_begin 0 80 {80 * rank}; {between}; "
        "file_write_at_all_end 0; file_close 0"
    )


@pytest.mark.parametrize(("way", "seconds"), [("independent", 4.0), ("romio", 4.0), ("ompio", 2.0)])
def test_libraries_do_the_work_when_they_do(replay: Replay, way: str, seconds: float) -> None:
    # Two ranks write for two seconds and sleep for two; with OMPIO, at the same time.
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
    # The first step does not wait for other ranks.
    late = [f"{OPEN}; sleep {3 * rank}; " + _split(rank).split("; ", 1)[1] for rank in range(2)]
    finish = replay(*(one.replace("; file_close 0", "") for one in late), config=config).finish
    assert finish.tolist() == pytest.approx([2.0, 5.0], abs=BARRIERS)


def test_nothing_is_written_by_an_empty_part(replay: Replay) -> None:
    empty = f"{OPEN}; file_write_all_begin 0 0; file_write_all_end 0"
    for way in ("independent", "romio", "ompio"):
        result = replay(empty, empty, config={"tisim/collective-io": way})
        assert result.simulated_time < BARRIERS


BAD = [
    ("file_write_all_end 0", "where no file_write_all_begin is in progress;"),
    ("file_write_all_begin 0 8; file_write_all 0 8; file_write_all_end 0", "while the"),
    ("file_write_all_begin 0 8; file_write_at_all_end 0", "end it with file_write_all_end"),
    ("file_write_all_begin 0 8; file_close 0", "file_close of handle 0 while the"),
    ("file_write_all_begin 0 8; file_write_all_begin 0 8", "end it with file_write_all_end"),
]


@pytest.mark.parametrize(("calls", "message"), BAD)
def test_steps_that_do_not_fit_are_errors(
    replay: Replay, tmp_path: Path, calls: str, message: str
) -> None:
    assert message in findings(tmp_path, f"{OPEN}; {calls}")[0]
    for way in ("independent", "romio", "ompio"):
        with pytest.raises(InputError, match=message):
            replay(f"{OPEN}; {calls}", config={"tisim/collective-io": way})


def test_other_calls_may_stand_between(replay: Replay, tmp_path: Path) -> None:
    text = f"{OPEN}; file_write_all_begin 0 8; file_write_at 0 8 100; file_write_all_end 0"
    assert findings(tmp_path, text) == []
    replay(text)


def test_steps_in_a_loop_are_checked_and_packed(replay: Replay, tmp_path: Path) -> None:
    turn = "file_write_all_begin 0 8; compute 1; file_write_all_end 0; "
    ranks = [f"{OPEN}; file_seek 0 {1000 * rank}; {100 * turn}file_close 0" for rank in range(2)]
    assert check(Trace.open(packed_again(tmp_path, replay(*ranks)))).sound


def test_a_write_goes_on_while_its_rank_computes(replay: Replay) -> None:
    write = f"{OPEN}; file_iwrite_at 0 160 0 request=3"  # 2 s on the disk
    for rest, end in (
        ("compute 3e9; wait request=3", 3.0),
        ("compute 1e9; wait request=3", 2.0),
        ("compute 1e9; waitall", 2.0),
        ("compute 1e9; waitany requests=3", 2.0),
        ("compute 1e9", 2.0),  # pending operations are completed at the end
        ("test request=3; compute 1e9; waitall requests=3; compute 1e9", 3.0),
    ):
        assert replay(f"{write}; {rest}").simulated_time == pytest.approx(end, abs=BARRIERS), rest


def test_accesses_under_way_share_the_disk(replay: Replay) -> None:
    two = f"{OPEN}; file_iwrite 0 80 request=0; file_iwrite 0 40 request=1"
    result = replay(f"{two}; wait request=1; compute 2e9; wait request=0")
    # Both get 40 bytes/s up to second 1, when the shorter one ends.
    assert result.simulated_time == pytest.approx(3.0, abs=BARRIERS)
    assert replay(f"{two}; waitall").simulated_time == pytest.approx(1.5, abs=BARRIERS)
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
    assert replay(nothing).simulated_time < BARRIERS


def test_requests_of_files_and_messages_are_waited_for_together(replay: Replay) -> None:
    first = f"{OPEN}; file_iwrite_at_all 0 80 0 request=0; irecv 1 0 8 request=1; "
    second = f"{OPEN}; compute 2e9; send 0 0 8"
    ends = replay(first + "waitall requests=0,1", second).finish.tolist()
    assert ends == pytest.approx([2.0, 2.0], abs=2 * BARRIERS)
    ends = replay(first + "waitany requests=1,0; compute 0; waitall", second).finish.tolist()
    assert ends == pytest.approx([2.0, 2.0], abs=2 * BARRIERS)
    first = first.replace("request=1; ", "request=1; waitany requests=0,1; compute 5e8; waitall")
    ends = replay(first.replace("80 0", "40 0"), second).finish.tolist()
    # Both compute on one core from second 0.5 to 1.5.
    assert ends == pytest.approx([2.5, 2.5], abs=2 * BARRIERS)


def test_a_check_follows_these_requests(tmp_path: Path) -> None:
    start = f"{OPEN}; file_iwrite_at 0 8 0 request=0"
    assert findings(tmp_path, f"{start}; wait request=0; file_close 0") == []
    assert findings(tmp_path, f"{start}; waitall; file_close 0") == []
    [left] = findings(tmp_path, f"{start}; file_close 0")
    assert "posts a request that is never waited for" in left
    [twice] = findings(tmp_path, f"{start}; file_iread 0 8 request=0; waitall; file_close 0")
    assert "request 0 is still pending since line 2" in twice
    [none] = findings(tmp_path, f"{OPEN}; file_write 0 8 request=0; file_close 0")
    assert "file_write needs handle bytes" in none


def test_packed_started_accesses_are_replayed_alike(replay: Replay, tmp_path: Path) -> None:
    ranks = [
        f"{OPEN}; file_iwrite_at 0 40 {40 * rank} request=0; compute 1e8; wait request=0; "
        f"file_iread_at_all 0 {10 + rank} 0 request=0; waitall requests=0; file_close 0"
        for rank in range(4)
    ]
    packed_again(tmp_path, replay(*ranks))


PLATFORM = """<zone id="z" routing="Full"><host id="a" speed="1Gf">
<disk id="d" read_bw="400" write_bw="100"/></host></zone>"""


def text(pattern: Io, rank: int) -> list[str]:
    lines = "".join(pattern.pieces(rank)).splitlines()
    return [line.partition(" ")[2] for line in lines if "compute" not in line][1:-1]


def test_the_lines_of_each_pattern() -> None:
    def of(access: Access, rank: int) -> list[str]:
        return text(Io(ranks=3, iterations=1, access=access, written=20, block=10), rank)

    write = ["write 3 10"]
    assert of("serial", 0) == ["gather 20 20 0", "open 3 data wct", *write * 6, "close 3"]
    assert of("serial", 1) == ["gather 20 20 0"]
    assert of("file-per-process", 2) == ["open 3 data.%05d wct", *write * 2, "close 3"]
    assert of("shared", 2) == ["open 3 data wc", "lseek 3 40", *write * 2, "close 3"]
    assert of("strided", 1) == [
        "open 3 data wc", "lseek 3 10", *write, "lseek 3 20 cur", *write, "close 3"
    ]  # fmt: skip


@pytest.mark.parametrize("access", ACCESSES)
@pytest.mark.parametrize("name", ["trace", "trace.tit"])
def test_every_pattern_writes_and_reads_all_bytes(
    tmp_path: Path, access: Access, name: str
) -> None:
    """A misplaced block would make the file too short for the following reads."""
    platform = platform_file(tmp_path, PLATFORM)
    pattern = Io(
        ranks=4, iterations=2, compute=0, access=access, written=60, block=20, read_back=True,
        fsync=True,
    )  # fmt: skip
    pattern.write(tmp_path / name)
    hosts = Deployment.cyclic(["a"], 4)
    result = tisim.replay(tmp_path / name, platform=platform, deployment=hosts)
    assert result.io is not None
    assert sum(result.io["bytes_written"]) == sum(result.io["bytes_read"]) == 4 * 2 * 60
    # While some ranks read, others may still write: at most 400 bytes/s, at least 100.
    assert 960 / 400 < result.simulated_time <= 480 / 100 + 480 / 400 + 1e-3


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="written must be a multiple of the block, 7, not 1"):
        Io(ranks=1, written=10, block=7)
    with pytest.raises(InputError, match=r"access must be one of serial, .*, not random"):
        Io(ranks=1, access="random")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="file must be a name without blanks"):
        Io(ranks=1, file="a b")


def test_the_size_of_a_trace_hardly_depends_on_its_ranks(tmp_path: Path) -> None:
    sizes = []
    for ranks in (1000, 100_000):
        path = tmp_path / f"{ranks}.tit"
        Io(ranks=ranks, access="file-per-process").write(path)
        sizes.append(path.stat().st_size)
    assert sizes[1] <= sizes[0] + 16
