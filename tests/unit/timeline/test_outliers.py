"""Computations that took far longer than others like them, and slow nodes, are named."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tests.unit.command_line import CommandLine
from tisim.analysis.timeline.outliers import place_of, ranges
from tisim.platform import new

_STEPS = 20


def sweep(folder: Path, ranks: int, slow: dict[tuple[int, int], int]) -> Path:
    """A sweep over ranks, from the first to the last and round again; 1 ms of computing each."""
    folder.mkdir()
    for rank in range(ranks):
        lines = [f"{rank} init"]
        for step in range(_STEPS):
            if rank or step:
                lines.append(f"{rank} recv {(rank - 1) % ranks} 1 100")
            lines.append(f"{rank} compute {slow.get((rank, step), 1_000_000)}")
            if (rank, step) != (ranks - 1, _STEPS - 1):
                lines.append(f"{rank} send {(rank + 1) % ranks} 1 100")
        (folder / f"r{rank}").write_text("\n".join(lines) + "\n")
    return folder


def replayed(trace: Path, ranks: int) -> tisim.Result:
    platform = new.cluster(ranks, bandwidth="1GBps", latency="1us", speed="1Gf")
    return tisim.replay(trace, platform=platform, event_log=True)


def test_a_long_computation_is_named_with_who_waits_for_it(tmp_path: Path) -> None:
    result = replayed(sweep(tmp_path / "t", 4, {(2, 7): 30_000_000}), 4)
    (found,) = result.require_event_log().outliers
    assert (found.rank, found.line, found.before, found.after) == (2, 24, 23, 25)
    assert found.seconds == pytest.approx(30e-3)
    assert found.usual == pytest.approx(1e-3)
    assert found.alike == _STEPS
    # Rank 3 waits for it, rank 0 for rank 3, rank 1 for rank 0; all the time.
    assert found.waiting == 3
    assert found.waited == pytest.approx(3 * 30e-3, rel=1e-3)
    written = result.require_event_log().to_dict()["outliers"]
    assert written[0]["rank"] == 2 and written[0]["seconds"] == pytest.approx(30e-3)


def test_what_a_rank_does_seldom_is_compared_with_other_ranks(tmp_path: Path) -> None:
    """Each rank computes three times between a barrier and its receive, rank 3 once for longer."""
    lines = [f"{rank} init" for rank in range(6)]
    for step in range(3):
        for rank in range(6):
            volume = 20_000_000 if (rank, step) == (3, 1) else 1_000_000 + 1000 * rank
            lines += [f"{rank} barrier", f"{rank} compute {volume}"]
            lines += [f"{rank} send {(rank + 1) % 6} 1 100", f"{rank} recv {(rank - 1) % 6} 1 100"]
    (tmp_path / "t.txt").write_text("\n".join(lines) + "\n")
    (found,) = replayed(tmp_path / "t.txt", 6).require_event_log().outliers
    assert found.rank == 3 and found.seconds == pytest.approx(20e-3)
    assert found.alike == 18 and found.usual == pytest.approx(1e-3, rel=0.01)


def test_computations_that_are_all_alike_are_no_outliers(tmp_path: Path) -> None:
    result = replayed(sweep(tmp_path / "t", 3, {}), 3)
    log = result.require_event_log()
    assert (log.outliers, log.slow_ranks) == ([], [])


def test_a_slow_node_is_named(tmp_path: Path) -> None:
    slow = {(11, step): 2_000_000 for step in range(_STEPS)}
    log = replayed(sweep(tmp_path / "t", 12, slow), 12).require_event_log()
    (found,) = log.slow_ranks
    assert (found.host, found.ranks) == ("node-11", [11])
    assert found.ratio == pytest.approx(2.0)
    assert log.outliers == []
    # Where many ranks compute longer, the work is divided so.
    more = slow | {(rank, step): 2_000_000 for rank in (3, 7) for step in range(_STEPS)}
    assert replayed(sweep(tmp_path / "u", 12, more), 12).require_event_log().slow_ranks == []


def test_one_long_computation_makes_no_slow_node(tmp_path: Path) -> None:
    result = replayed(sweep(tmp_path / "t", 12, {(11, 7): 100_000_000}), 12)
    log = result.require_event_log()
    assert [one.rank for one in log.outliers] == [11]
    assert log.slow_ranks == []


def test_the_breakdown_prints_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new.cluster(4, bandwidth="1GBps", latency="1us", speed="1Gf").write(tmp_path / "p.xml")
    trace = sweep(tmp_path / "t", 4, {(2, 7): 30_000_000})
    ran = CommandLine(tmp_path, capsys)(
        "replay", "--platform", str(tmp_path / "p.xml"), "--breakdown", str(trace)
    )
    head = "rank  begins (ms)  lasts (ms)  usually (ms)  others wait (ms)  ranks  where"
    assert head in ran.out
    row = ran.out[ran.out.index(head) :].splitlines()[1].split()
    assert row[0] == "2" and row[2] == "30.000" and row[5] == "3"
    assert " ".join(row[6:]) == "line 24 of the rank's trace"


def test_places_in_words(tmp_path: Path) -> None:
    (one,) = (
        replayed(sweep(tmp_path / "t", 4, {(2, 7): 30_000_000}), 4).require_event_log().outliers
    )
    paths = {(2, 23): "main (a.c:1)", (2, 25): "main (a.c:9)"}
    assert place_of(one, paths) == "between main (a.c:1) and main (a.c:9)"
    assert place_of(one, {(2, 25): "main (a.c:9)"}) == "before main (a.c:9)"
    assert place_of(one, {(2, 24): "work (a.c:5)"}) == "at work (a.c:5)"
    assert ranges([1, 2, 3, 7, 9, 10]) == "1 to 3, 7, 9 to 10"
