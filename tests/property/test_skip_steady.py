"""Replays that skip iterations of steady states give the same times as replays that do not.

The programs are repetitive, and many are sensitive: half of them have messages with sizes near the
thresholds of protocols, or computations that end a nanosecond apart.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import tisim
from tests.property.test_check_by_repetition import Lines, joined
from tests.support import campaign, load_platform, write_ranks
from tisim.traces import pack

# Number of programs in each of eight batches.
PROGRAMS = campaign(12, 60)

#: Flops that take 1e-9 s on a host of `CLUSTER`.
NANOSECOND = 4.0

CLUSTER = """<config>
<prop id="smpi/os" value="0:1e-6:1e-10"/><prop id="smpi/or" value="0:2e-6:0"/></config>
<cluster id="c" prefix="h" suffix="" radical="0-7" speed="4Gf" bw="125MBps" lat="20us"
  bb_bw="300MBps" bb_lat="5us"/>"""


def flops(ranks: int, draw: random.Random, near: bool) -> list[float]:
    """Draw the volume of each rank's computation."""
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
    """Each rank computes after the previous one, as in a pipeline."""
    much, volumes = size(draw, near), flops(ranks, draw, near)
    return [
        [f"recv {me - 1} 2 {much}"] * (me > 0)
        + [f"compute {volumes[me]:.17g}"]
        + [f"send {me + 1} 2 {much}"] * (me < ranks - 1)
        for me in range(ranks)
    ]


def pairs(ranks: int, draw: random.Random, near: bool) -> Lines:
    """Ranks with different numbers of neighbours."""
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
    """One rank sends far ahead of the receivers, until they no longer wait for it."""
    volumes = flops(ranks, draw, near)
    much = min(size(draw, near), 60000)
    return [
        [f"compute {volumes[me] * (1 + me):.17g}"]
        + ([f"send {peer} 4 {much}" for peer in range(1, ranks)] if me == 0 else [])
        + ([f"recv 0 4 {much}"] if me > 0 else [])
        for me in range(ranks)
    ]


def steady_program(seed: int) -> Lines:
    """Return the lines of each rank, without its number."""
    draw = random.Random(seed)
    near = seed % 2 == 1
    ranks = draw.randrange(2, 9)

    def steps(most: int) -> Lines:
        count = draw.randrange(1, most)
        return joined(*(draw.choice(STEPS)(ranks, draw, near) for _ in range(count)))

    def loop() -> Lines:
        repetitions = draw.choice([10, 40, 150, 400])
        body = ahead(ranks, draw, near) if draw.random() < 0.1 else steps(5)
        if draw.random() < 0.2:  # alternating bodies
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
    """Relative change of the ranks' end times if messages are 1e-11 longer or shorter."""
    seeds = [{"tisim/jitter-size": 1e-11, "tisim/jitter-seed": seed} for seed in range(3)]
    moved = [tisim.replay(trace, platform=platform, config=options) for options in seeds]
    return max(_error(result, times) for result in moved)


def _error(result: tisim.Result, expected: tisim.Result) -> float:
    """Maximum relative difference of the ranks' end times."""
    pairs = zip(result.column("finish"), expected.column("finish"), strict=True)
    return max(abs(one - other) / other for one, other in pairs)


def skipped(trace: Path, platform: tisim.Platform, tolerance: float = 1e-6) -> int:
    """Return the number of skipped iterations, after a comparison with a replay that skips none.

    End times may differ by twice the tolerance. If a program is chaotic, ten times its sensitivity
    is allowed, as in comparisons with SimGrid.
    """
    whole = tisim.replay(trace, platform=platform)
    result = tisim.replay(trace, platform=platform, skip_steady=tolerance)
    for count in ("actions", "bytes_sent", "messages_sent"):
        assert result.column(count) == whole.column(count)
    assert result.steady is not None
    # Events that coincide within the precision end this much earlier in each iteration.
    together = 1e-9 * result.steady["iterations"] * len(result.hosts)
    allowed = 2 * tolerance * whole.simulated_time + together
    sums = [(result.column(name), whole.column(name)) for name in ("compute", "other")]
    assert all(
        abs(a - b) <= allowed for mine, right in sums for a, b in zip(mine, right, strict=True)
    )
    error = _error(result, whole)
    assert error <= 2 * tolerance or error <= 10 * _sensitivity(trace, platform, whole)
    return result.steady["skipped"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> tisim.Platform:
    return load_platform(tmp_path_factory.mktemp("platform"), CLUSTER)


def packed(seed: int, directory: Path) -> Path:
    trace = directory / f"{seed}.tit"
    pack(write_ranks(directory / str(seed), *steady_program(seed)), trace)
    return trace


@pytest.mark.parametrize("first", range(0, 8 * PROGRAMS, PROGRAMS))
def test_programs_take_their_time(first: int, cluster: tisim.Platform, tmp_path: Path) -> None:
    seeds = range(first, first + PROGRAMS)
    skipping = sum(skipped(packed(seed, tmp_path), cluster) > 0 for seed in seeds)
    assert skipping >= PROGRAMS // 4


def test_ties_that_rounding_decides_otherwise_later_are_no_steady_state(
    cluster: tisim.Platform, tmp_path: Path
) -> None:
    """Program 101 repeats itself until dates exceed 0.5 s, where a tie is decided differently.

    From then on, the deviation of its period grows by a factor of 1.5 in each iteration.
    """
    skipped(packed(101, tmp_path), cluster)
