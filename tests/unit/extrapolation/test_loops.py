"""Equal programs get equal loops, and the search for a process grid stays fast."""

from __future__ import annotations

from functools import reduce
from itertools import combinations
from math import isqrt
from operator import and_
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.unit.extrapolation.test_programs import Program, written
from tisim.errors import InputError
from tisim.traces.extrapolation import extrapolate
from tisim.traces.extrapolation.accidental_loops import expand, without_accidental_loops
from tisim.traces.extrapolation.checking import check
from tisim.traces.extrapolation.grids import Place, known_grids
from tisim.traces.extrapolation.guards import Evidence, Scene, known_conditions
from tisim.traces.extrapolation.merging import split_classes
from tisim.traces.extrapolation.recorded import (
    ClassProgram,
    Item,
    Repeat,
    loops_of,
    normalized,
    with_starters,
)
from tisim.traces.extrapolation.recordings import Recordings
from tisim.traces.extrapolation.shapes import ClassCall, Shape
from tisim.traces.packed_program import PackedTrace, Rules
from tisim.traces.writer import write_trace


def test_loops_begin_as_early_as_they_can() -> None:
    # 0 1 (2 3 1)^9 2 3 4 is 0 (1 2 3)^10 4.
    assert normalized((0, 1, Repeat(9, (2, 3, 1)), 2, 3, 4)) == (0, Repeat(10, (1, 2, 3)), 4)


def test_repetitions_are_found_again() -> None:
    plane = (1, 2, 2)
    inner = (1, Repeat(2, (2,)))
    assert normalized(plane * 3 + (5,) + plane * 3 + (5,)) == (Repeat(2, (Repeat(3, inner), 5)),)


def test_loops_of_loops_are_one() -> None:
    assert normalized((Repeat(3, (Repeat(4, (7,)),)),)) == (Repeat(12, (7,)),)


def test_loops_of_equal_bodies_in_a_row_are_one() -> None:
    assert normalized((0, Repeat(4, (1, 2)), Repeat(7, (1, 2)))) == (0, Repeat(11, (1, 2)))
    assert normalized((Repeat(4, (1, 2)), 1, Repeat(7, (2, 1)))) == (Repeat(11, (1, 2)), 1)


def test_rules_that_are_no_loops_are_spelled_out() -> None:
    rules: Rules = [
        [(False, 0, 1), (True, 1, 1), (True, 1, 1), (False, 3, 1)],
        [(False, 1, 1), (False, 2, 1)],
    ]
    assert loops_of(rules, [0, 1, 2, 3]) == (0, Repeat(2, (1, 2)), 3)


def call(text: bytes, *numbers: int) -> ClassCall:
    """Return a call of two ranks with the same numbers."""
    shape = Shape(text, (1,) * len(numbers), 1)
    return ClassCall(shape, tuple(np.full(2, n, dtype=np.int64) for n in numbers), frozenset())


CALLS = [
    call(b"irecv \1 \1 request=\1", 1, 5, 0),
    call(b"irecv \1 \1 request=\1", 2, 5, 0),
    call(b"wait request=\1", 0),
    call(b"waitall requests=\1,\1", 0, 1),
]


def shown(items: tuple[Item, ...], calls: list[ClassCall]) -> list[tuple[int, ...]]:
    """Return the peers of the calls that started each item's requests, and -times for a loop."""
    made: list[tuple[int, ...]] = []
    for item in items:
        if isinstance(item, Repeat):
            made += [(-item.times,), *shown(item.body, calls)]
        else:
            made.append(tuple(int(of.numbers[0][0]) for of in calls[item].starters))
    return made


def test_a_wait_knows_what_started_its_request() -> None:
    assert shown(*with_starters((0, 2, 1, 2), CALLS)) == [(), (1,), (), (2,)]
    # Requests in a list that no call has started are ignored.
    assert shown(*with_starters((0, 3), CALLS)) == [(), ()]


def test_a_loop_whose_first_wait_is_of_another_call_begins_elsewhere() -> None:
    loop = Repeat(3, (2, 0))  # preceded by the receive from another rank
    items = (1, loop, 2)
    assert shown(*with_starters(items, CALLS)) == [(), (2,), (-3,), (), (1,)]


def test_loops_can_be_spelled_out() -> None:
    loops = (5, Repeat(2, (7,)), Repeat(3, (6, Repeat(2, (7,)))))
    made = expand(loops, lambda loop: loop.body == (7,))
    assert made == ((5, 7, 7, Repeat(3, (6, 7, 7))), [0, 1, 1, 2, 3, 3])
    made = expand((5, Repeat(2, (6, Repeat(2, (7,))))), lambda _: True)
    assert made == ((5, 6, 7, 7, 6, 7, 7), [0, 1, 2, 2, 1, 2, 2])


SEND, RECV = Shape(b"send 0 0 \1", (1,), 0), Shape(b"recv 0 0 \1", (1,), 0)


def program(rank: int, items: tuple[Item, ...]) -> ClassProgram:
    """Calls 0, 2 and 4 send 8, 16 and 24 bytes; calls 1, 3 and 5 receive them."""
    calls = [
        ClassCall(shape, (np.array([size], dtype=np.int64),), frozenset())
        for size in (8, 16, 24)
        for shape in (SEND, RECV)
    ]
    return ClassProgram(0, np.array([rank], dtype=np.int64), calls, items)


def test_ranks_that_make_the_same_calls_in_other_loops_are_one_class() -> None:
    classes = [
        program(1, (Repeat(2, (0, 1)), 2, 3)),
        program(0, (0, 1, Repeat(2, (2, 3)))),
        program(2, (Repeat(3, (4, 5)),)),
    ]
    (made,) = without_accidental_loops(classes)
    assert made.ranks.tolist() == [0, 1, 2]
    sizes = [made.calls[call].numbers[0].tolist() for call in made.items if isinstance(call, int)]
    first, second, third = [8, 8, 24], [16, 8, 24], [16, 16, 24]
    assert sizes == [first, first, second, second, third, third]
    assert made.calls[0].varying == {0}


def test_ranks_that_make_other_calls_keep_their_loops() -> None:
    classes = [program(0, (Repeat(2, (0, 1)), 2, 3)), program(1, (Repeat(4, (0, 1)),))]
    assert without_accidental_loops(classes) == classes
    # A sweep there and back: two corners have equal numbers of sends and receives in other orders.
    classes = [
        program(0, (Repeat(2, (0, 2)), 4, Repeat(2, (1, 3)))),
        program(1, (Repeat(2, (0, 1)), 4, Repeat(2, (2, 3)))),
    ]
    assert without_accidental_loops(classes) == classes


PROBLEM = 144


def line_of_cells(side: int, rank: int) -> list[str]:
    """Communication of SP along one dimension: a message after each cell, shorter at the edges."""
    x, y = rank % side, rank // side

    def size(x: int, stage: int) -> int:
        length = PROBLEM // side
        edges = [place % side in (0, side - 1) for place in (x + stage, y - stage)]
        return 8 * (length - edges[0]) * (length - edges[1])

    right, left = (x + 1) % side + y * side, (x - 1) % side + y * side
    lines = ["init"]
    for _ in range(3):
        for stage in range(side - 1):
            lines.append(f"isend {right} 0 {size(x, stage)} request=0")
            lines.append(f"irecv {left} 0 {size(x - 1, stage)} request=1")
            lines.append("waitall requests=1,0")
        lines.append("allreduce 8 0")
    return [*lines, "finalize"]


def trace_of_cells(directory: Path, side: int) -> Path:
    path = directory / f"cells.{side}.tit"
    with write_trace(path, side * side) as trace:
        for rank in range(side * side):
            trace.write_rank(rank, [f"{rank} {line}\n" for line in line_of_cells(side, rank)])
    return path


def test_messages_whose_size_follows_from_the_cell_and_the_stage_are_exact(tmp_path: Path) -> None:
    traces = [trace_of_cells(tmp_path, side) for side in (3, 4, 6)]
    for side in (8, 9):
        grid = ["an even grid of 2 dimensions, the longest first"]
        made = extrapolate(traces, side * side, tmp_path / "made.tit", prefer=grid)
        assert min(parameter.confirming_sizes for parameter in made.parameters) >= 1
        found = PackedTrace(tmp_path / "made.tit")
        for rank in range(side * side):
            lines = [line.decode().partition(" ")[2] for line in found.lines(rank)]
            assert lines == line_of_cells(side, rank)


SIZES = (8, 16, 32)
CUBE = "an even grid of 3 dimensions, the longest last"


def ring_of_planes(rank: int, ranks: int) -> list[str]:
    """Each rank sends along the last axis, and rank 3 broadcasts."""
    plane = {8: 4, 16: 4, 32: 8}[ranks]
    after, before = (rank + plane) % ranks, (rank - plane) % ranks
    exchange = [f"isend {after} 1 100", f"recv {before} 1 100", f"wait {rank} {after} 1"]
    return ["init", *exchange, "bcast 100 3", "finalize"]


def test_a_root_takes_no_class_apart(tmp_path: Path) -> None:
    recordings = Recordings.read([written(ring_of_planes, ranks, tmp_path) for ranks in SIZES])
    line, *grids = known_grids(SIZES, 64)
    cube = next(grid for grid in grids if grid.name == CUBE)
    places = [Place(ranks, [line, cube]) for ranks in SIZES]
    parts = split_classes(recordings.classes, places)
    assert [len(part.ranks) for part in parts] == list(SIZES)


def test_grids_have_axes_that_traces_show() -> None:
    grids = [grid for grid in known_grids(SIZES, 64) if grid.name != "a line"]
    sides = [[grid.sides(ranks) or () for ranks in SIZES] for grid in grids]
    assert all(max(axis) > 1 for of_grid in sides for axis in zip(*of_grid, strict=True))
    # An axis may have length 1 in one trace if it is longer in another.
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
    """Return the number of points of a place; the first ones have one more."""
    return POINTS // side + (place < POINTS % side)


def sweep(rank: int, ranks: int) -> list[str]:
    """A wavefront over the inner points and an exchange of all points, as in LU."""
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
    extrapolated = extrapolate(traces, target, made, prefer=[SQUARE])
    assert not extrapolated.volumes
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
