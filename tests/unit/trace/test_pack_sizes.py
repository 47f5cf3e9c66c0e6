"""Sizes that are drawn anew each time are kept as means, and both ends of a message agree."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tisim import replay
from tisim.traces import Trace, check
from tisim.traces.extrapolation.rounded_sizes import pack_rounded
from tisim.traces.packed_program import PackedTrace
from tisim.traces.writer import write_trace

ROOT = Path(__file__).resolve().parents[3]
GRAPHENE = ROOT / "platforms" / "graphene.xml"


def particles(target: Path, ranks: int, steps: int) -> Path:
    """Particles move to both neighbours in a ring, and then to any rank."""
    drawn = random.Random(5)
    moved = [
        [[drawn.randrange(1000, 20000) for _ in range(2)] for _ in range(ranks)]
        for _ in range(steps)
    ]
    far = [[[drawn.randrange(900) for _ in range(ranks)] for _ in range(ranks)] for _ in moved]
    with write_trace(target, ranks) as trace:
        for rank in range(ranks):
            up, down = (rank + 1) % ranks, (rank - 1) % ranks
            lines = ["init"]
            for now, all_ways in zip(moved, far, strict=True):
                received = [counts[rank] for counts in all_ways]
                lines += [
                    "compute 1000000",
                    f"irecv {down} 0 {now[down][0]}",
                    f"irecv {up} 1 {now[up][1]}",
                    f"isend {up} 0 {now[rank][0]}",
                    f"isend {down} 1 {now[rank][1]}",
                    "waitall",
                    f"alltoallv {sum(all_ways[rank])} {' '.join(map(str, all_ways[rank]))} "
                    f"{sum(received)} {' '.join(map(str, received))}",
                ]
            trace.write_rank(rank, [f"{rank} {line}\n" for line in [*lines, "finalize"]])
    return target


def test_means_take_the_same_space_at_any_length_and_hardly_change_times(tmp_path: Path) -> None:
    sizes = []
    for steps in (10, 60):
        exact = particles(tmp_path / f"{steps}.tit", 8, steps)
        typical = tmp_path / "typical.tit"
        pack_rounded(exact, typical, "mean", volumes="mean")
        sizes.append(typical.stat().st_size)
        assert check(Trace.open(typical)).findings == check(Trace.open(exact)).findings == ()
        time = replay(exact, platform=GRAPHENE).simulated_time
        assert replay(typical, platform=GRAPHENE).simulated_time == pytest.approx(time, rel=0.12)
    assert sizes[1] < sizes[0] + 10
    assert (tmp_path / "60.tit").stat().st_size > 20 * sizes[1]


def test_a_level_bounds_each_size(tmp_path: Path) -> None:
    exact = particles(tmp_path / "exact.tit", 4, 30)
    pack_rounded(exact, tmp_path / "rounded.tit", "5e-2")
    before, after = (
        [line.split() for rank in range(4) for line in PackedTrace(path).lines(rank)]
        for path in (exact, tmp_path / "rounded.tit")
    )
    after = [words for words in after if words[0] != b"#"]
    assert before != after
    for old, new in zip(before, after, strict=True):
        assert old[:2] == new[:2]
        if old[1] == b"irecv":
            assert int(new[4]) == pytest.approx(int(old[4]), rel=0.051)


def test_the_command_says_what_it_cannot(tisim: CommandLine) -> None:
    legacy = str(tisim.write("legacy.txt", "0 init\n0 compute 5\n0 finalize\n"))
    target = str(tisim.directory / "x.tit")
    run = tisim("pack", "--sizes", "mean", "--dialect", "legacy", legacy, "-o", target)
    assert run.status == 2
    assert "--sizes takes traces of the modern dialect only" in run.err
