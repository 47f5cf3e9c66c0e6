"""What a result counts, against programs that can be counted by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tisim
from tisim.result import COLUMNS

ROOT = Path(__file__).resolve().parents[3]
BACKBONE = tisim.Platform.load(ROOT / "platforms" / "backbone.xml")


def replay(directory: Path, *ranks: str, **options: Any) -> tisim.Result:
    for number, text in enumerate(ranks):
        lines = [f"{number} {line}\n" for line in text.split(";")]
        (directory / f"r{number}").write_text("".join(lines))
    return tisim.replay(directory, platform=BACKBONE, **options)


def counts(result: tisim.Result) -> list[tuple[int, int]]:
    """Messages and bytes that each rank sent."""
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
    """A line that stands for several operations is one action, and so are those that do nothing."""
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
    with pytest.raises(tisim.InputError, match="a deployment or hosts, not both"):
        replay(tmp_path, "compute 1", hosts=["c-0.me"], deployment="d.xml")
