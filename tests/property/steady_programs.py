"""Programs that repeat what they do, many of them where a little decides what happens.

Half of the programs have messages whose sizes are near the thresholds of protocols, or computations
that end a billionth of a second apart.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable
from pathlib import Path

import tisim
from tests.property.looping_programs import Lines, joined, write
from tisim.traces import pack

#: Flops that take 1e-9 s on a host of `CLUSTER`.
NANOSECOND = 4.0

CLUSTER = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
 <config>
  <prop id="smpi/os" value="0:1e-6:1e-10"/>
  <prop id="smpi/or" value="0:2e-6:0"/>
 </config>
 <cluster id="c" prefix="h" suffix="" radical="0-7" speed="4Gf" bw="125MBps" lat="20us"
          bb_bw="300MBps" bb_lat="5us"/>
</platform>
"""


def flops(ranks: int, draw: random.Random, near: bool) -> list[float]:
    """The volume of each rank's computation."""
    base = draw.choice([4e4, 4e5, 4e6])
    if near:
        return [base + NANOSECOND * draw.choice([0, 0.5, 0.99, 1, 1.01, 2]) for _ in range(ranks)]
    return [base * draw.choice([1, 1, draw.uniform(0.5, 2)]) for _ in range(ranks)]


def size(draw: random.Random, near: bool) -> int:
    if near:
        return draw.choice([1420, 65536]) + draw.choice([-17, -16, -1, 0, 1])
    return round(10 ** draw.uniform(1, 6))


def computation(ranks: int, draw: random.Random, near: bool) -> Lines:
    return [[f"compute {volume:.17g}"] for volume in flops(ranks, draw, near)]


def ring(ranks: int, draw: random.Random, near: bool) -> Lines:
    much, by = size(draw, near), draw.randrange(1, ranks)
    return [
        [f"irecv {(me - by) % ranks} 1 {much}", f"isend {(me + by) % ranks} 1 {much}", "waitall"]
        for me in range(ranks)
    ]


def sweep(ranks: int, draw: random.Random, near: bool) -> Lines:
    """Each rank computes behind the one before it, as in a pipeline."""
    much, volumes = size(draw, near), flops(ranks, draw, near)
    return [
        [f"recv {me - 1} 2 {much}"] * (me > 0)
        + [f"compute {volumes[me]:.17g}"]
        + [f"send {me + 1} 2 {much}"] * (me < ranks - 1)
        for me in range(ranks)
    ]


def pairs(ranks: int, draw: random.Random, near: bool) -> Lines:
    """Ranks of different numbers of neighbours."""
    lines: Lines = [[] for _ in range(ranks)]
    for _ in range(draw.randrange(1, ranks + 1)):
        source, destination = draw.sample(range(ranks), 2)
        much = size(draw, near)
        lines[source].append(f"{draw.choice(['send', 'isend'])} {destination} 3 {much}")
        lines[destination].append(f"recv {source} 3 {much}")
    return [[*of_rank, "waitall"] for of_rank in lines]


def collective(ranks: int, draw: random.Random, near: bool) -> Lines:
    much = size(draw, near)
    line = draw.choice(
        ["barrier", f"allreduce {much} 1e4", f"bcast {much} 0", f"alltoall {much} {much}"]
    )
    return [[line] for _ in range(ranks)]


STEPS: tuple[Callable[[int, random.Random, bool], Lines], ...] = (
    computation,
    computation,
    ring,
    sweep,
    pairs,
    collective,
)


def ahead(ranks: int, draw: random.Random, near: bool) -> Lines:
    """A rank that sends far ahead of those that receive, until they wait for it no more."""
    volumes = flops(ranks, draw, near)
    much = min(size(draw, near), 60000)
    return [
        [f"compute {volumes[me] * (1 + me):.17g}"]
        + ([f"send {peer} 4 {much}" for peer in range(1, ranks)] if me == 0 else [])
        + ([f"recv 0 4 {much}"] if me > 0 else [])
        for me in range(ranks)
    ]


def steady_program(seed: int) -> Lines:
    """What each rank does, without its number."""
    draw = random.Random(seed)
    near = seed % 2 == 1
    ranks = draw.randrange(2, 9)

    def steps(most: int) -> Lines:
        count = draw.randrange(1, most)
        return joined(*(draw.choice(STEPS)(ranks, draw, near) for _ in range(count)))

    def loop() -> Lines:
        repetitions = draw.choice([10, 40, 150, 400])
        body = ahead(ranks, draw, near) if draw.random() < 0.1 else steps(5)
        if draw.random() < 0.2:  # every second time something else
            body = joined(body, steps(3), body)
        if draw.random() < 0.2:
            inner = steps(2)
            body = joined(body, [of_rank * 5 for of_rank in inner])
        made = [of_rank * repetitions for of_rank in body]
        return joined(computation(ranks, draw, near), made) if draw.random() < 0.2 else made

    program = joined(steps(3), loop(), steps(2))
    if draw.random() < 0.4:
        program = joined(program, loop(), steps(2))
    return [["init", *of_rank, "finalize"] for of_rank in program]


def _sensitivity(trace: Path, platform: tisim.Platform, times: tisim.Result) -> float:
    """How far the ends of ranks move when messages are 1e-11 longer or shorter; relative."""
    seeds = [{"tisim/jitter-size": 1e-11, "tisim/jitter-seed": seed} for seed in range(3)]
    moved = [tisim.replay(trace, platform=platform, config=options) for options in seeds]
    return max(_error(result, times) for result in moved)


def _error(result: tisim.Result, expected: tisim.Result) -> float:
    """By how much the ends of ranks differ, relative, at most."""
    pairs = zip(result.column("finish"), expected.column("finish"), strict=True)
    return max(abs(one - other) / other for one, other in pairs)


def agree(trace: Path, platform: tisim.Platform, tolerance: float) -> bool:
    """Whether a replay that skips iterations gives the numbers of one that does not.

    Ends may differ by twice the tolerance. Where a program is chaotic, ten times its sensitivity is
    allowed, as it is beside SimGrid.
    """
    whole = tisim.replay(trace, platform=platform)
    result = tisim.replay(trace, platform=platform, skip_steady=tolerance)
    for count in ("actions", "bytes_sent", "messages_sent"):
        if result.column(count) != whole.column(count):
            return False
    assert result.steady is not None
    # What is together up to the precision ends so much earlier, in each iteration.
    together = 1e-9 * result.steady["iterations"] * len(result.hosts)
    allowed = 2 * tolerance * whole.simulated_time + together
    sums = [(result.column(name), whole.column(name)) for name in ("compute", "other")]
    if any(abs(a - b) > allowed for mine, right in sums for a, b in zip(mine, right, strict=True)):
        return False
    error = _error(result, whole)
    return error <= 2 * tolerance or error <= 10 * _sensitivity(trace, platform, whole)


def looks_steady(trace: Path, platform: tisim.Platform, tolerance: float) -> bool:
    """Whether iterations are skipped."""
    steady = tisim.replay(trace, platform=platform, skip_steady=tolerance).steady
    return steady is not None and steady["skipped"] > 0


def main() -> int:
    """Try many programs; the number of those that differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--tolerance", type=float, default=1e-6)
    arguments = parser.parse_args()
    wrong, skipping = [], 0
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "cluster.xml").write_text(CLUSTER)
        platform = tisim.Platform.load(directory / "cluster.xml")
        for seed in range(arguments.first, arguments.first + arguments.programs):
            trace = directory / f"{seed}.tit"
            pack(write(steady_program(seed), directory / str(seed)), trace)
            if not agree(trace, platform, arguments.tolerance):
                wrong.append(seed)
            skipping += looks_steady(trace, platform, arguments.tolerance)
    print(f"{arguments.programs} programs, {skipping} skip iterations, these differ: {wrong}")
    return len(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
