"""Traces that hold histograms of volumes only."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tests.tit_reader import TitTrace
from tests.unit.command_line import BACKBONE
from tisim.errors import InputError
from tisim.traces import Trace, inspect, pack, unpack
from tisim.traces.writer import DrawnTraceWriter

CALLS = 400


def drawn(path: Path, seed: int) -> Path:
    writer = DrawnTraceWriter(3, seed=seed)
    work = writer.histogram([(1e6, 2e6, 30), (8e6, 9e6, 10)])
    small = writer.histogram([(100, 200, 1)])
    for rank in range(3):
        loop = (
            f"{rank} compute histogram={work}\n{rank} bcast 8\n"
            f"{rank} compute histogram={small}\n{rank} send {(rank + 1) % 3} 0 8\n"
            f"{rank} recv {(rank + 2) % 3} 0 8\n"
        )
        lines = f"{rank} init\n{rank} compute 77\n{rank} barrier\n" + CALLS * loop
        writer.write_rank(rank, [lines, f"{rank} compute histogram={small}\n{rank} finalize\n"])
    writer.finish(path)
    return path


def volumes(path: Path, tmp_path: Path) -> list[list[float]]:
    unpack(path, tmp_path)
    texts = [file.read_text() for file in sorted(tmp_path.iterdir())]
    return [
        [float(line.split()[2]) for line in text.splitlines() if " compute " in line]
        for text in texts
    ]


def test_volumes_are_those_of_the_histograms(tmp_path: Path) -> None:
    path = drawn(tmp_path / "drawn.tit", seed=7)
    found = volumes(path, tmp_path / "text")
    assert found[0] != found[1]
    for of_rank in found:
        assert len(of_rank) == 2 + 2 * CALLS
        assert of_rank[0] == 77
        work, small = of_rank[1:-1:2], of_rank[2::2]
        assert all(90 <= volume <= 260 for volume in small)
        assert all(9e5 <= volume <= 9.9e6 for volume in work)
        assert sum(work) / len(work) == pytest.approx(3.25e6, rel=0.2)
    assert path.stat().st_size < 2000


def test_all_readers_draw_the_same(tmp_path: Path) -> None:
    path = drawn(tmp_path / "drawn.tit", seed=7)
    found = volumes(path, tmp_path / "text")
    trace = Trace.open(path)
    for rank in range(3):
        batches = trace.operations(rank, batch=7)
        read = [
            float(row["amount"])
            for rows in batches
            for row in rows
            if row["kind"] == tisim.traces.Kind.COMPUTE
        ]
        assert read == found[rank]
        slow = TitTrace(path).lines(rank)
        assert [float(line.split()[2]) for line in slow if b" compute " in line] == read
    assert trace.actions == 3 * (5 + CALLS * 5)
    statistics = inspect(path, statistics=True)
    assert sum(site.volumes.sum for site in statistics.sites) == pytest.approx(
        sum(map(sum, found)), rel=1e-12
    )


def test_every_run_is_the_same_and_says_what_it_is_of(tmp_path: Path) -> None:
    first, other = (drawn(tmp_path / f"{seed}.tit", seed) for seed in (1, 2))
    results = [tisim.replay(path, platform=BACKBONE) for path in (first, first, other)]
    times = [result.simulated_time for result in results]
    assert times[0] == times[1] != times[2]
    assert Trace.open(first).precision == "histogram"
    assert any("volumes are drawn" in warning for warning in results[0].warnings)


def test_it_is_not_for_ones_own_traces(tmp_path: Path) -> None:
    path = drawn(tmp_path / "drawn.tit", seed=0)
    with pytest.raises(InputError, match="volumes cannot be kept as 'histogram'"):
        pack(path, tmp_path / "out.tit", volumes="histogram")
    with pytest.raises(InputError, match="keeps volumes as histogram already"):
        pack(path, tmp_path / "out.tit", volumes="mean")


def test_what_is_no_histogram_is_refused() -> None:
    writer = DrawnTraceWriter(1)
    for bins in ([], [(1.0, 2.0, 0)], [(2.0, 1.0, 1)], [(5, 6, 1), (1, 2, 1)], [(-1, 2, 1)]):
        with pytest.raises(InputError, match="histogram of volumes"):
            writer.histogram(bins)
    with pytest.raises(InputError, match="there is no histogram of volumes 3"):
        writer.write_rank(0, ["0 compute histogram=3\n"])
    with pytest.raises(InputError, match="a seed is"):
        DrawnTraceWriter(1, seed=-1)
