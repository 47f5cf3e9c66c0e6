"""File views with holes: the bytes that move, in which pieces or buffers, and the time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.io.conftest import Replay, findings, packed_again
from tisim.actions.two_phase import ompio, romio
from tisim.actions.two_phase.plan import Hints, Request
from tisim.analysis.result import Result
from tisim.errors import DiskFullError, InputError

OPEN = "file_open 0 /scratch/f rwc"
# Maximum time of a call's barriers; the disk takes seconds.
BARRIERS = 1e-3
ROMIO = {"tisim/collective-io": "romio"}
# The disk of the hosts reads 200 bytes/s and writes 80.
READ, WRITE = 200, 80


def _sums(result: Result) -> tuple[list[int], list[int]]:
    assert result.io is not None
    return result.io["bytes_read"], result.io["bytes_written"]


def test_positions_count_what_the_view_shows(replay: Replay) -> None:
    # Rank r has the blocks 2 i + r of 10 bytes.
    ranks = [
        f"{OPEN}; file_set_view 0 {10 * r} 10 20; file_write_all 0 25; file_write_at_all 0 15 25; "
        "file_set_view 0; file_read_at 0 80 0"
        for r in range(2)
    ]
    result = replay(*ranks)
    assert _sums(result) == ([80, 80], [40, 40])
    assert result.finish.tolist() == pytest.approx([80 / WRITE + 160 / READ] * 2, abs=BARRIERS)
    with pytest.raises(InputError, match="reads 81 bytes from offset 0"):
        replay(*(rank.replace("0 80 0", "0 81 0") for rank in ranks))


def test_seeks_count_what_the_view_shows(replay: Replay) -> None:
    text = f"{OPEN}; file_set_size 0 95; file_set_view 0 5 10 30; file_seek 0 -10 end; "
    # The view shows the bytes 5 to 14, 35 to 44 and 65 to 74: 30 of them.
    replay(f"{text} file_read 0 10")
    with pytest.raises(InputError, match="reads 31 bytes from offset 65"):
        replay(f"{text} file_read 0 11")
    # A new view starts at its beginning, and so does the file itself.
    replay(f"{text} file_set_view 0 85 5 50; file_read 0 5; file_set_view 0; file_read 0 95")


def test_levels_are_those_of_a_subarray(replay: Replay) -> None:
    # Planes 1 and 2, rows 0 and 1, columns 1 and 2 of 3 x 3 x 4 bytes: the last ones are 21 to 22.
    text = f"{OPEN}; file_set_size 0 {{}}; file_set_view 0 13 2 2 4 2 12 36; file_read 0 8"
    replay(text.format(31))
    with pytest.raises(InputError, match="ends at 30"):
        replay(text.format(30))


def test_data_sieving_reads_buffers(replay: Replay) -> None:
    text = f"{OPEN}; file_set_size 0 100; file_set_view 0 0 10 30; file_read 0 40"
    assert _sums(replay(text)) == ([40], [0])
    # One buffer from the first byte to the last; or 0 to 49, and 60 to 99.
    whole = replay(text, config=ROMIO)
    assert _sums(whole) == ([100], [0])
    assert whole.simulated_time == pytest.approx(100 / READ, abs=BARRIERS)
    small = replay(text, config=ROMIO | {"tisim/ind-rd-buffer-size": "50"})
    assert _sums(small) == ([90], [0])
    disabled = replay(text, config=ROMIO | {"tisim/ds-read": "disable"})
    assert _sums(disabled) == ([40], [0])
    ompio = {"tisim/collective-io": "ompio"}
    assert _sums(replay(text, config=ompio)) == ([40], [0])
    assert _sums(replay(text, config=ompio | {"tisim/ds-read": "enable"})) == ([100], [0])


def test_data_sieving_reads_what_it_writes_before(replay: Replay) -> None:
    text = f"{OPEN}; file_set_size 0 80; file_set_view 0 0 10 30; file_write 0 40"
    small = replay(text, config=ROMIO | {"tisim/ind-wr-buffer-size": "50"})
    # The second buffer, 60 to 99, overlaps 20 bytes of the existing file.
    assert _sums(small) == ([70], [90])
    assert small.simulated_time == pytest.approx(70 / READ + 90 / WRITE, abs=BARRIERS)
    assert _sums(replay(text, config=ROMIO | {"tisim/ds-write": "disable"})) == ([0], [40])


def test_buffers_of_several_ranks_are_written_one_after_the_other(replay: Replay) -> None:
    ranks = [
        f"{OPEN}; file_set_size 0 80; file_set_view 0 {10 * r} 10 20; file_write 0 40"
        for r in range(3)
    ]
    result = replay(*ranks, config=ROMIO)
    each = 70 / READ + 70 / WRITE
    # The existing file has 60 bytes of the third buffer, 20 to 89.
    third = 60 / READ + 70 / WRITE
    finish = sorted(result.finish.tolist())
    assert finish == pytest.approx([each, 2 * each, 2 * each + third], abs=BARRIERS)
    # Accesses of two files share the disk instead.
    apart = [rank.replace("/scratch/f", "/scratch/f.%d") for rank in ranks[:2]]
    finish = replay(*apart, config=ROMIO).finish.tolist()
    assert finish == pytest.approx([140 / READ + 140 / WRITE] * 2, abs=BARRIERS)


def test_a_request_with_holes_is_over_when_its_call_returns(replay: Replay) -> None:
    text = f"{OPEN}; file_set_view 0 0 10 20; file_iwrite 0 40 request=0; {{}}wait request=0"
    assert replay(text.format("")).simulated_time == pytest.approx(0.5, abs=BARRIERS)
    later = replay(text.format("sleep 2; ")).simulated_time
    assert later == pytest.approx(2.5, abs=BARRIERS)


@pytest.mark.parametrize(
    ("length", "wanted"),
    # Blocks of 10 bytes begin at 5, 35, 65 and 95.
    [(0, 40), (5, 40), (9, 36), (15, 30), (20, 30), (35, 30), (70, 15), (104, 1), (105, 0)],
)
def test_what_a_view_shows_behind_the_end_takes_room(
    replay: Replay, length: int, wanted: int
) -> None:
    # The first file leaves one byte too few of the disk's 1000 bytes, or just enough.
    text = (
        f"open 1 /scratch/g wc; write 1 {{}}; {OPEN}; file_set_size 0 {length}; "
        "file_set_view 0 5 10 30; file_write 0 40"
    )
    replay(text.format(1000 - wanted))
    if wanted > 0:
        with pytest.raises(DiskFullError, match=f"from offset 5 needs {wanted} more bytes"):
            replay(text.format(1001 - wanted))


def test_pieces_on_a_disk_are_not_counted_one_by_one(replay: Replay) -> None:
    text = f"{OPEN}; file_set_view 0 0 1 2; file_write 0 {10**15}; file_read_at 0 {10**15} 0"
    result = replay(text, hosts="b")
    assert result.simulated_time == pytest.approx(10**15 / WRITE + 10**15 / READ)


@pytest.mark.parametrize("way", ["romio", "ompio"])
def test_two_phases_join_interleaved_pieces(replay: Replay, way: str) -> None:
    ranks = [
        f"{OPEN}; file_set_view 0 {10 * r} 10 40; file_write_all 0 50; "
        "file_set_view 0; file_read_at 0 200 0"
        for r in range(4)
    ]
    result = replay(*ranks, config={"tisim/collective-io": way})
    assert _sums(result) == ([200] * 4, [200, 0, 0, 0])
    assert result.simulated_time == pytest.approx(200 / WRITE + 800 / READ, abs=0.01)


def test_parts_with_holes_that_follow_each_other_are_sieved(replay: Replay) -> None:
    ranks = [
        f"{OPEN}; file_set_size 0 200; file_set_view 0 {100 * r} 10 20; file_write_all 0 50"
        for r in range(2)
    ]
    assert _sums(replay(*ranks, config=ROMIO)) == ([90, 90], [90, 90])
    # Aggregators skip holes with OMPIO and write whole buffers with ROMIO.
    assert _sums(replay(*ranks, config={"tisim/collective-io": "ompio"})) == ([0, 0], [100, 0])
    enabled = ROMIO | {"tisim/cb-write": "enable"}
    assert _sums(replay(*ranks, config=enabled)) == ([190, 0], [190, 0])


def test_a_plan_has_one_message_for_the_pieces_of_a_round() -> None:
    pieces = [[(10 * rank + 40 * i, 10) for i in range(5)] for rank in range(4)]
    request = Request(
        [10 * rank for rank in range(4)], [50] * 4, True, [0, 0, 1, 1], Hints(), pieces=pieces
    )
    for library in (romio, ompio):
        plan = library.plan_of(request)
        assert isinstance(plan, (romio.TwoPhase, ompio.TwoPhase))
        of_rank = plan.rounds.of_rank
        assert sum(size for sent in of_rank.values() for _, size in sent) == 200
        assert all(len(sent) == len(dict(sent)) for sent in of_rank.values())
    rounds = romio._rounds(request)
    assert rounds is not None
    # Two aggregators have 100 bytes each: 10 blocks of 4 ranks, interleaved.
    assert rounds.aggregators == [0, 2]
    assert rounds.of_rank[0, 0] == [(0, 30), (2, 20)]
    assert rounds.pieces[0] == {0: 3, 1: 3, 2: 2, 3: 2}


def test_a_view_after_the_file_is_opened_again_is_none(replay: Replay) -> None:
    text = f"{OPEN}; file_set_view 0 0 10 20; file_write 0 20; file_close 0; {OPEN}; "
    replay(f"{text} file_read 0 30; file_close 0")


def test_a_check_knows_where_a_view_writes(tmp_path: Path) -> None:
    text = f"{OPEN}; file_set_view 0 {{}} 10 20; file_write 0 40; file_write_at 0 10 40"
    assert findings(tmp_path, text.format(0), text.format(10)) == []
    found = findings(tmp_path, text.format(0), text.format(9))
    assert "writes bytes 9 to 9 of '/scratch/f'" in found[0]


BAD = [
    ("file_set_view 0 0 10", "a view needs a displacement"),
    ("file_set_view 0 0 10 2 20", "a view needs a displacement"),
    ("file_set_view 0 0 10 8", "blocks of 10 bytes that begin every 8 bytes overlap"),
    ("file_set_view 0 0 0 8", "have no bytes"),
    ("file_set_view 0 -1 10 20", "number of a view"),
]


@pytest.mark.parametrize(("line", "message"), BAD)
def test_views_that_are_none(replay: Replay, line: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        replay(f"{OPEN}; {line}")
    assert caught.value.line == 2


def test_views_are_packed(replay: Replay, tmp_path: Path) -> None:
    ranks = [
        f"{OPEN}; file_set_view 0 {10 * r} 5 2 10 {80}; file_write_all 0 40; file_close 0"
        for r in range(4)
    ]
    packed_again(tmp_path, replay(*ranks, config=ROMIO), config=ROMIO)
