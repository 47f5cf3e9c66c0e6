"""Points that are dealt over a grid of ranks, where they do not divide."""

from __future__ import annotations

from math import isqrt
from pathlib import Path

import pytest

from tests.unit.extrapolation.test_solvers import Program, written
from tisim.errors import InputError
from tisim.traces.extrapolation import extrapolate
from tisim.traces.extrapolation.checking import check
from tisim.traces.tit import TitTrace

POINTS = 1020
SQUARE = "an even grid of 2 dimensions, the longest first"


def share(side: int, place: int) -> int:
    """The first places have one more."""
    return POINTS // side + (place < POINTS % side)


def sweep(rank: int, ranks: int) -> list[str]:
    """A wavefront over the inner points, and an exchange of all, as LU has them."""
    side = isqrt(ranks)
    x, y = rank % side, rank // side
    wide, high = (share(side, at) - (at == 0) - (at == side - 1) for at in (x, y))
    lines = [f"compute {40 * 1018 * wide * high}"]
    for distance, place, points in ((1, x, share(side, y)), (side, y, share(side, x))):
        if place < side - 1:
            lines.append(f"send {rank + distance} 1 {80 * points}")
        if place > 0:
            lines.append(f"recv {rank - distance} 1 {80 * points}")
    plane = [f"compute {386 * wide * high}"]
    plane += [f"recv {rank - 1} 2 {40 * high}"] if x > 0 else []
    plane += [f"recv {rank - side} 2 {40 * wide}"] if y > 0 else []
    plane += [f"compute {319 * wide * high}"]
    plane += [f"send {rank + 1} 2 {40 * high}"] if x < side - 1 else []
    plane += [f"send {rank + side} 2 {40 * wide}"] if y < side - 1 else []
    return ["init", *(lines + plane * 3) * 2, "allreduce 40 0", "finalize"]


def slabs(rank: int, ranks: int) -> list[str]:
    """A ring of slabs."""
    return [f"compute {7 * share(ranks, rank)}", f"allgather {share(ranks, rank)} 0", "barrier"] * 2


@pytest.mark.parametrize(
    ("program", "sizes", "target"),
    [(sweep, (16, 64, 256), 1024), (sweep, (36, 49, 64), 121), (slabs, (8, 16, 32), 128)],
)
def test_shares_are_exact(
    program: Program, sizes: tuple[int, ...], target: int, tmp_path: Path
) -> None:
    traces = [written(program, ranks, tmp_path) for ranks in sizes]
    made = tmp_path / "made.tit"
    found = extrapolate(traces, target, made, prefer=[SQUARE])
    assert not found.volumes
    assert check(made, written(program, target, tmp_path)).first is None


def test_volumes_of_no_function_are_means(tmp_path: Path) -> None:
    def uneven(rank: int, ranks: int) -> list[str]:
        return [f"compute {1000 * (rank * rank % 7) // ranks}", "barrier"] * 3

    traces = [written(uneven, ranks, tmp_path) for ranks in (8, 16, 32)]
    assert extrapolate(traces, 64, tmp_path / "made.tit").volumes


def test_a_loop_is_repeated_as_often_as_asked(tmp_path: Path) -> None:
    traces = [written(sweep, ranks, tmp_path) for ranks in (16, 64, 256)]
    made = tmp_path / "made.tit"
    shown = extrapolate(traces, 1024, made, prefer=[SQUARE]).parameters
    loops = [one.site.removeprefix("loop ") for one in shown if one.what == "iterations"]
    extrapolate(traces, 1024, made, prefer=[SQUARE], iterations={loops[0]: 50})
    once = sweep(0, 1024)
    body = (len(once) - 3) // 2
    assert sum(1 for _ in TitTrace(made).lines(0)) == 50 * body + 3


def test_a_loop_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    traces = [written(sweep, ranks, tmp_path) for ranks in (16, 64, 256)]
    with pytest.raises(InputError, match=r"no loop 99; its loops are .* times\)"):
        extrapolate(traces, 1024, tmp_path / "m.tit", prefer=[SQUARE], iterations={"99": 5})
