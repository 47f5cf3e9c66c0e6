"""Solvers like those of NAS and generated patterns are extrapolated exactly."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from pathlib import Path
from typing import Any

import pytest

from tests.unit.command_line import CommandLine
from tisim.errors import InputError
from tisim.traces import Trace
from tisim.traces.extrapolation import extrapolate
from tisim.traces.extrapolation.checking import check
from tisim.traces.extrapolation.next_sizes import (
    ambiguous_grids,
    candidate_sizes,
    distinguishing_size,
)
from tisim.traces.generate import PATTERNS
from tisim.traces.generate.patterns import ACCESSES
from tisim.traces.packed_program import PackedTrace
from tisim.traces.writer import write_trace


def generated(directory: Path, name: str, ranks: int, **parameters: Any) -> Path:
    path = directory / f"{name}.{ranks}.tit"
    PATTERNS[name](ranks=ranks, **parameters).write(path)
    return path


def assert_equal_lines(one: Path, other: Path) -> None:
    first, second = PackedTrace(one), PackedTrace(other)
    assert first.ranks == second.ranks
    for rank in range(first.ranks):
        assert list(first.lines(rank)) == list(second.lines(rank)), rank


@pytest.mark.parametrize(
    ("name", "sizes", "target", "parameters"),
    [
        ("ring", (4, 8, 16), 1024, {}),
        ("ring", (3, 5, 8), 512, {"allreduce": 8, "allreduce_every": 2}),
        ("halo2d", (16, 32, 64), 1024, {"iterations": 3}),
        ("halo2d", (16, 32, 64), 1024, {"iterations": 2, "periodic": True}),
        ("halo3d", (27, 64, 125), 512, {"iterations": 1, "allreduce": 8}),
        ("halo3d", (27, 64, 125), 512, {"periodic": True, "nbytes": (8, 16, 24)}),
        ("wavefront", (16, 32, 64), 512, {"iterations": 1, "planes": 3}),
        ("transpose", (4, 8, 16), 1024, {}),
        ("ring-allreduce", (4, 8, 16), 64, {"iterations": 2}),
        ("tree-allreduce", (8, 16, 32), 512, {"iterations": 2, "buckets": 2}),
    ],
)
def test_patterns_are_exact(
    tmp_path: Path, name: str, sizes: tuple[int, ...], target: int, parameters: dict[str, Any]
) -> None:
    traces = [generated(tmp_path, name, ranks, **parameters) for ranks in sizes]
    made = extrapolate(traces, target, tmp_path / "made.tit")
    assert made.ranks == target
    assert min(parameter.confirming_sizes for parameter in made.parameters) >= 1
    assert_equal_lines(tmp_path / "made.tit", generated(tmp_path, name, target, **parameters))


@pytest.mark.parametrize("read_back", [False, True])
@pytest.mark.parametrize("access", ACCESSES)
def test_files_are_exact_at_64_times_the_ranks(
    tmp_path: Path, access: str, read_back: bool
) -> None:
    parameters = {"access": access, "read_back": read_back, "iterations": 2, "file": "ckpt"}
    traces = [generated(tmp_path, "io", ranks, **parameters) for ranks in (4, 8, 16)]
    extrapolate(traces, 1024, tmp_path / "made.tit")
    assert_equal_lines(tmp_path / "made.tit", generated(tmp_path, "io", 1024, **parameters))


@pytest.mark.parametrize(
    ("name", "sizes", "target", "parameters", "says"),
    [
        # Random partners follow no rule.
        ("sparse", (4, 5, 6), 256, {"degree": 1}, "which ranks"),
        # Always four wide: the width at the target is unknown.
        ("halo3d", (16, 32, 64), 512, {"periodic": True}, "could be"),
        # No trace has an inner rank.
        ("halo2d", (2, 4, 6), 64, {}, "no family explains|only the trace of 6 ranks"),
        ("ring", (4, 8), 64, {}, "of at least 3 numbers of ranks"),
        ("ring", (4, 8, 16), 0, {}, "must have at least one rank,"),
    ],
)
def test_what_is_not_certain_is_refused(
    tmp_path: Path,
    name: str,
    sizes: tuple[int, ...],
    target: int,
    parameters: dict[str, Any],
    says: str,
) -> None:
    traces = [generated(tmp_path, name, ranks, **parameters) for ranks in sizes]
    with pytest.raises(InputError, match=says):
        extrapolate(traces, target, tmp_path / "made.tit")
    assert not (tmp_path / "made.tit").exists()


def test_a_process_grid_can_be_preferred(tmp_path: Path) -> None:
    # 4 x 2 x 2, 4 x 4 x 2 and 4 x 4 x 4: as even as possible, or always four wide.
    parameters = {"periodic": True}
    traces = [generated(tmp_path, "halo3d", ranks, **parameters) for ranks in (16, 32, 64)]
    made = tmp_path / "made.tit"
    even = "an even grid of 3 dimensions, the longest first"
    extrapolate(traces, 512, made, prefer=[even])
    assert_equal_lines(made, generated(tmp_path, "halo3d", 512, **parameters))


def test_volumes_that_vary_are_fitted(tmp_path: Path) -> None:
    noisy = {"iterations": 20, "noise": 0.1, "compute": 1e6}
    traces = [generated(tmp_path, "ring", ranks, **noisy) for ranks in (4, 8, 16)]
    made = extrapolate(traces, 64, tmp_path / "made.tit")
    assert [volume.fit.family for volume in made.volumes] == ["constant"]
    trace = PackedTrace(tmp_path / "made.tit")
    assert Trace.open(tmp_path / "made.tit").precision == "mean"
    lines = list(trace.lines(63))
    computed = [float(line.split()[-1]) for line in lines if b"compute" in line]
    assert len(computed) == 20
    assert computed[0] == pytest.approx(1e6, rel=0.05)
    assert lines[2] == b"63 irecv 62 0 1024"


def test_strong_scaling_is_fitted(tmp_path: Path) -> None:
    traces = []
    for ranks in (4, 8, 16):
        work = {"iterations": 20, "noise": 0.01, "compute": 64e6 / ranks}
        traces.append(generated(tmp_path, "ring", ranks, **work))
    made = extrapolate(traces, 64, tmp_path / "made.tit", scaling="strong")
    assert made.volumes[0].fit.value == pytest.approx(1e6, rel=0.05)
    assert made.volumes[0].fit.error < 0.05
    with pytest.raises(InputError, match="scaling must be one of auto, strong, weak, not 'linear'"):
        extrapolate(traces, 64, tmp_path / "made.tit", scaling="linear")


#: Returns a rank's lines without their rank, given the rank and the number of ranks.
Program = Callable[[int, int], list[str]]


def slabs(rank: int, ranks: int) -> list[str]:
    """FT: communicators split with keys by rank, and all-to-alls of blocks of n / P^2."""
    count = 1 << 22 >> 2 * (ranks.bit_length() - 1)
    split = [f"comm_split 0 1 0 {rank}", f"comm_split 0 2 {rank} 0"]
    split.append(f"comm_split 0 3 {rank // 4} {rank % 4}")
    return [*split, *[f"alltoall {count} {count} 14 14 comm=1", "reduce 1 0 0 14"] * 3]


def row_sums(rank: int, ranks: int) -> list[str]:
    """CG: sums along the rows of a square grid at decreasing distances, and a transposition."""
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
    """BT: a cell per stage, with tags by its position, and faces of (p - 1) n^2 / p^2."""
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

    Messages have 2560 / side bytes, minus a line of points at the edges of the grid.
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
    assert list(candidate_sizes(sizes, target)) == found


def test_a_size_that_tells_functions_apart() -> None:
    both = [lambda p: p, lambda p: p if p <= 16 else 16]
    assert distinguishing_size((4, 8, 16), 128, both) == 32
    assert distinguishing_size((4, 8, 16), 128, [lambda p: p, lambda p: p]) is None


def test_grids_that_squares_do_not_tell_apart() -> None:
    (sentence,) = ambiguous_grids((9, 16, 25), 72)
    assert "the longest first from an even grid of 2 dimensions, the longest last" in sentence
    assert ambiguous_grids((9, 16, 25), 64) == []
    assert "no rank of 4 and 8 has" in ambiguous_grids((4, 8, 16), 64)[0]


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
    assert (status, "record 64 ranks" in said) == (2, True)
