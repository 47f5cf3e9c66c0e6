"""What keeps the search for a process grid short, and changes nothing of what is found."""

from __future__ import annotations

from functools import reduce
from itertools import combinations
from math import isqrt
from operator import and_
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.unit.extrapolation.test_solvers import Program, written
from tisim.errors import InputError
from tisim.traces.extrapolation import extrapolate
from tisim.traces.extrapolation.checking import check
from tisim.traces.extrapolation.grids import Place, known_grids
from tisim.traces.extrapolation.guards import Evidence, Scene, known_conditions
from tisim.traces.extrapolation.merging import parted
from tisim.traces.extrapolation.recordings import Recordings
from tisim.traces.packed_program import PackedTrace

SIZES = (8, 16, 32)
CUBE = "an even grid of 3 dimensions, the longest last"


def ring_of_planes(rank: int, ranks: int) -> list[str]:
    """Each rank sends along the last axis, and rank 3 tells all of them something."""
    plane = {8: 4, 16: 4, 32: 8}[ranks]
    after, before = (rank + plane) % ranks, (rank - plane) % ranks
    exchange = [f"isend {after} 1 100", f"recv {before} 1 100", f"wait {rank} {after} 1"]
    return ["init", *exchange, "bcast 100 3", "finalize"]


def test_a_root_takes_no_class_apart(tmp_path: Path) -> None:
    recordings = Recordings.read([written(ring_of_planes, ranks, tmp_path) for ranks in SIZES])
    line, *grids = known_grids(SIZES, 64)
    cube = next(grid for grid in grids if grid.name == CUBE)
    places = [Place(ranks, [line, cube]) for ranks in SIZES]
    parts = parted(recordings.classes, places)
    assert [len(part.ranks) for part in parts] == list(SIZES)


def test_grids_have_axes_that_traces_show() -> None:
    grids = [grid for grid in known_grids(SIZES, 64) if grid.name != "a line"]
    sides = [[grid.sides(ranks) or () for ranks in SIZES] for grid in grids]
    assert all(max(axis) > 1 for of_grid in sides for axis in zip(*of_grid, strict=True))
    # An axis may have length 1 in one trace if another trace shows it.
    assert [(4, 2, 1), (4, 2, 2), (4, 4, 2)] in sides


@pytest.mark.parametrize("seed", range(40))
def test_guards_are_those_that_a_full_search_finds(seed: int) -> None:
    draw = Random(seed)
    places = [Place(ranks, known_grids((12, 20), 30)[:2]) for ranks in (12, 20)]
    scenes, target = [Scene(place) for place in places], Scene(Place(30, places[0].grids))
    chosen = draw.sample(known_conditions(places[0], False), draw.randint(1, 4))
    domain = [draw.choice(chosen).holds(scene) | (scene.place.all % 3 > 0) for scene in scenes]
    seen = [
        reduce(and_, (condition.holds(scene) for condition in chosen), among)
        for scene, among in zip(scenes, domain, strict=True)
    ]
    conditions: dict[tuple[bytes, bytes], str] = {}
    among, wanted = np.concatenate(domain), np.concatenate(seen)
    for condition in known_conditions(places[0], False):
        held = np.concatenate([condition.holds(scene) for scene in scenes]) & among
        if (held & wanted == wanted).all() and (held != among).any():
            key = (held.tobytes(), condition.holds(target).tobytes())
            conditions.setdefault(key, condition.text)
    found = next((level for level in Evidence(scenes, [target]).guards(domain, seen) if level), [])
    expected: list[str] = ["all ranks"] if (among == wanted).all() else []
    for count in range(1, 4):
        for several in combinations(conditions.items(), count):
            if expected and len(expected[0].split(" and ")) < count:
                break
            held = reduce(and_, (np.frombuffer(one[0][0], dtype=np.bool_) for one in several))
            if (held == wanted).all():
                expected.append(" and ".join(text for _, text in several))
    if expected or not found or len(found[0].conditions) < 4:
        assert [guard.text for guard in found] == expected


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
    assert sum(1 for _ in PackedTrace(made).lines(0)) == 50 * body + 3


def test_a_loop_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    traces = [written(sweep, ranks, tmp_path) for ranks in (16, 64, 256)]
    with pytest.raises(InputError, match=r"no loop 99; its loops are .* times\)"):
        extrapolate(traces, 1024, tmp_path / "m.tit", prefer=[SQUARE], iterations={"99": 5})
