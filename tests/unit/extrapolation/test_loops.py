"""Equal programs have equal loops, however their grammars were factored."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tisim.traces.extrapolation import extrapolate
from tisim.traces.extrapolation.accidental_loops import spelled_out, without_accidental_loops
from tisim.traces.extrapolation.recorded import (
    ClassProgram,
    Item,
    Repeat,
    loops_of,
    normalized,
    with_starters,
)
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
    """A call of two ranks with the same numbers."""
    shape = Shape(text, (1,) * len(numbers), 1)
    return ClassCall(shape, tuple(np.full(2, n, dtype=np.int64) for n in numbers), frozenset())


CALLS = [
    call(b"irecv \1 \1 request=\1", 1, 5, 0),
    call(b"irecv \1 \1 request=\1", 2, 5, 0),
    call(b"wait request=\1", 0),
    call(b"waitall requests=\1,\1", 0, 1),
]


def shown(items: tuple[Item, ...], calls: list[ClassCall]) -> list[tuple[int, ...]]:
    """Of each place, the peers of the calls that started its requests."""
    made: list[tuple[int, ...]] = []
    for item in items:
        if isinstance(item, Repeat):
            made += [(-item.times,), *shown(item.body, calls)]
        else:
            made.append(tuple(int(of.numbers[0][0]) for of in calls[item].starters))
    return made


def test_a_wait_knows_what_started_its_request() -> None:
    assert shown(*with_starters((0, 2, 1, 2), CALLS)) == [(), (1,), (), (2,)]
    # The numbers of a list that no call has started are not used.
    assert shown(*with_starters((0, 3), CALLS)) == [(), ()]


def test_a_loop_whose_first_wait_is_of_another_call_begins_elsewhere() -> None:
    loop = Repeat(3, (2, 0))  # after the receive of another rank
    items = (1, loop, 2)
    assert shown(*with_starters(items, CALLS)) == [(), (2,), (-3,), (), (1,)]


def test_loops_can_be_spelled_out() -> None:
    loops = (5, Repeat(2, (7,)), Repeat(3, (6, Repeat(2, (7,)))))
    made = spelled_out(loops, lambda loop: loop.body == (7,))
    assert made == ((5, 7, 7, Repeat(3, (6, 7, 7))), [0, 1, 1, 2, 3, 3])
    made = spelled_out((5, Repeat(2, (6, Repeat(2, (7,))))), lambda _: True)
    assert made == ((5, 6, 7, 7, 6, 7, 7), [0, 1, 2, 2, 1, 2, 2])


SEND, RECV = Shape(b"send 0 0 \1", (1,), 0), Shape(b"recv 0 0 \1", (1,), 0)


def program(rank: int, items: tuple[Item, ...]) -> ClassProgram:
    """Sends of 8, 16 and 24 bytes are calls 0, 2 and 4, with receives after them."""
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
    # A sweep there and back: as many sends and receives in two corners, in another order.
    classes = [
        program(0, (Repeat(2, (0, 2)), 4, Repeat(2, (1, 3)))),
        program(1, (Repeat(2, (0, 1)), 4, Repeat(2, (2, 3)))),
    ]
    assert without_accidental_loops(classes) == classes


PROBLEM = 144


def line_of_cells(side: int, rank: int) -> list[str]:
    """What SP does along one dimension: a message after each cell, shorter at the edges."""
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
        assert min(parameter.confirmed for parameter in made.parameters) >= 1
        found = PackedTrace(tmp_path / "made.tit")
        for rank in range(side * side):
            lines = [line.decode().partition(" ")[2] for line in found.lines(rank)]
            assert lines == line_of_cells(side, rank)
