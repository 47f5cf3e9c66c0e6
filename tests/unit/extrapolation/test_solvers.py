"""Programs as those of the NAS parallel benchmarks are extrapolated exactly."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tests.unit.extrapolation.test_generated_patterns import generated
from tisim.traces.extrapolation import extrapolate
from tisim.traces.extrapolation.checking import check
from tisim.traces.extrapolation.next_sizes import further_sizes, telling_size, undecided_grids
from tisim.traces.writer import write_trace

#: The lines of a rank, without it: of the rank and the number of ranks.
Program = Callable[[int, int], list[str]]


def slabs(rank: int, ranks: int) -> list[str]:
    """FT: communicators with keys by rank, and all-to-alls of blocks of n / P^2."""
    count = 1 << 22 >> 2 * (ranks.bit_length() - 1)
    split = [f"comm_split 0 1 0 {rank}", f"comm_split 0 2 {rank} 0"]
    split.append(f"comm_split 0 3 {rank // 4} {rank % 4}")
    return [*split, *[f"alltoall {count} {count} 14 14 comm=1", "reduce 1 0 0 14"] * 3]


def row_sums(rank: int, ranks: int) -> list[str]:
    """CG: sums along the rows of a square grid, of falling distance, and a transposition."""
    side = isqrt(ranks)
    stages = side.bit_length() - 1
    other = rank % side * side + rank // side
    rounds = [
        line
        for stage in reversed(range(stages))
        for line in (
            f"irecv {rank ^ 1 << stage} {stages - stage} 8 request=0",
            f"send {rank ^ 1 << stage} {stages - stage} 8",
            "wait request=0",
        )
    ]
    exchange = [f"irecv {other} 1 {14000 // side} request=0", f"send {other} 1 {14000 // side}"]
    return ["barrier", *[*rounds, *exchange, "wait request=0"] * 2]


def diagonals(rank: int, ranks: int) -> list[str]:
    """BT: a cell a stage, with tags by its place, and faces of (p - 1) n^2 / p^2."""
    side = isqrt(ranks)
    x, y = rank % side, rank // side
    east, west = (x + 1) % side + y * side, (x - 1) % side + y * side
    lines = [f"comm_split 0 1 0 {rank}", f"isend {east} 1 {46080 * (side - 1) // ranks} request=0"]
    lines += [f"recv {west} 1 {46080 * (side - 1) // ranks}", "wait request=0"]
    for stage in range(side - 1):
        tag = 3000 + (x + y - stage) % side + (stage - x) % side * side
        back = 3000 + (x + y - stage - 1) % side + (stage + 1 - x) % side * side
        lines += [f"isend {east} {tag} 64 request=0", f"irecv {west} {back} 64 request=1"]
        lines += ["wait request=0", "wait request=1"]
    return [*lines, "barrier"]


def sweeps(rank: int, ranks: int) -> list[str]:
    """LU: sweeps over planes, faces in both directions, and sums between messages of some ranks.

    Messages have 2560 / side bytes, and lack a line of points at the edges of the grid.
    """
    bits = ranks.bit_length() - 1
    width, height = 1 << (bits + 1) // 2, 1 << bits // 2
    x, y = rank % width, rank // width
    west, east = rank - 1 if x else None, rank + 1 if x < width - 1 else None
    north, south = rank - width if y else None, rank + width if y < height - 1 else None
    across = 2560 // height - 40 * (y in (0, height - 1))
    along = 2560 // width - 40 * (x in (0, width - 1))
    below = [(east, 0, across), (south, 1, along)]
    above = [(west, 0, across), (north, 1, along)]
    down = [*_calls("recv", above), *_calls("send", below)]
    up = [*_calls("recv", below), *_calls("send", above)]
    faces: list[str] = []
    for one, other, size in ((west, east, 81920 // height), (north, south, 81920 // width)):
        for source, target in ((one, other), (other, one)):
            waits = [] if source is None else ["wait request=0"]
            faces += _received(source, size)[:1] + _calls("send", [(target, 2, size)]) + waits
    sums = "allreduce 5 0 0"
    last = [
        *(*_received(south, 1024 // width), *_calls("send", [(north, 2, 1024 // width)]), sums),
        *(_received(south, 512) if x == 0 else []),
        *(_calls("send", [(north, 2, 512)]) if x == 0 else []),
    ]
    return [*faces, *faces, sums, "barrier", *[*down * 5, *up * 5, *faces] * 3, *last, sums, sums]


def _calls(action: str, peers: list[tuple[int | None, int, int]]) -> list[str]:
    return [f"{action} {peer} {tag} {size}" for peer, tag, size in peers if peer is not None]


def _received(source: int | None, size: int) -> list[str]:
    if source is None:
        return []
    return [f"irecv {source} 2 {size} request=0", "wait request=0"]


def written(program: Program, ranks: int, directory: Path) -> Path:
    path = directory / f"{ranks}.tit"
    with write_trace(path, ranks) as trace:
        for rank in range(ranks):
            trace.write_rank(rank, [f"{rank} {line}\n" for line in program(rank, ranks)])
    return path


@pytest.mark.parametrize(
    ("program", "sizes", "targets"),
    [
        (slabs, (4, 8, 16), (32, 64)),
        (row_sums, (4, 16, 64), (256,)),
        (diagonals, (9, 16, 36), (64,)),
        (sweeps, (16, 32, 64), (128,)),
    ],
)
def test_they_are_exact(
    program: Program, sizes: tuple[int, ...], targets: tuple[int, ...], tmp_path: Path
) -> None:
    traces = [written(program, ranks, tmp_path) for ranks in sizes]
    for target in targets:
        extrapolate(traces, target, tmp_path / "made.tit")
        found = check(tmp_path / "made.tit", written(program, target, tmp_path))
        assert found.first is None
        assert found.calls == sum(len(program(rank, target)) for rank in range(target))


def test_a_check_says_the_first_call_that_differs(tmp_path: Path) -> None:
    one = written(lambda rank, _: ["compute 10", "barrier", f"bcast {rank} 0"], 4, tmp_path)
    one = one.rename(tmp_path / "one.tit")
    other = written(lambda *_: ["compute 20", "barrier", "bcast 0 0", "barrier"], 4, tmp_path)
    found = check(one, other)
    assert (found.calls, found.different) == (12, 4)
    assert found.first is not None
    assert (found.first.rank, found.first.number) == (0, 3)
    assert (found.first.made, found.first.recorded) == ("", "0 barrier")
    assert [(of.action, of.made, of.recorded, of.error) for of in found.volumes] == [
        ("barrier", 40.0, 80.0, 0.5)
    ]


@pytest.mark.parametrize(
    ("sizes", "target", "found"),
    [
        ((4, 8, 16), 128, [32, 64]),
        ((4, 16, 64), 128, [32, 8]),
        ((4, 9, 16), 50, [25, 36, 49]),
        ((8, 64, 27), 200, [125]),
        ((6, 12, 24), 40, [30, 36, 18]),
    ],
)
def test_further_sizes_are_like_the_recorded_ones(
    sizes: tuple[int, ...], target: int, found: list[int]
) -> None:
    assert list(further_sizes(sizes, target)) == found


def test_a_size_that_tells_functions_apart() -> None:
    both = [lambda p: p, lambda p: p if p <= 16 else 16]
    assert telling_size((4, 8, 16), 128, both) == 32
    assert telling_size((4, 8, 16), 128, [lambda p: p, lambda p: p]) is None


def test_grids_that_squares_do_not_tell_apart() -> None:
    (sentence,) = undecided_grids((9, 16, 25), 72)
    assert "the longest first from an even grid of 2 dimensions, the longest last" in sentence
    assert undecided_grids((9, 16, 25), 64) == []
    assert "no rank of 4 and 8 has" in undecided_grids((4, 8, 16), 64)[0]


def test_the_sizes_that_a_refusal_names_are_enough(
    tisim: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, output = Path(tisim.directory), str(tisim.directory / "o.tit")

    def extrapolated(*sizes: int) -> tuple[int, str]:
        traces = [str(generated(directory, "halo2d", n, iterations=2)) for n in sizes]
        outcome = tisim("extrapolate", *traces, "--to", "64", "-o", output)
        return outcome.status, outcome.err

    monkeypatch.setattr("tisim.commands.extrapolate.PATIENCE", 3600.0)
    status, refusal = extrapolated(4, 8, 16)
    assert status == 2
    assert refusal.endswith("record 12, 16 and 20 ranks\n")
    monkeypatch.setattr("tisim.commands.extrapolate.PATIENCE", 0.0)
    first, again = extrapolated(4, 8, 16)[1].splitlines()
    assert first.startswith("tisim: if the program has a grid: on a grid of 2 dimensions no rank")
    assert f"{again}\n" == refusal
    assert extrapolated(12, 16, 20)[0] == 0
    status, said = extrapolated(16, 32)
    assert (status, "record 64 ranks too, for example" in said) == (2, True)
