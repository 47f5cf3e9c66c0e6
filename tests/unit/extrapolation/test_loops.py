"""Equal programs have equal loops, however their grammars were factored."""

from __future__ import annotations

import numpy as np

from tisim.traces.extrapolation.recorded import Item, Repeat, loops_of, normalized, with_starters
from tisim.traces.extrapolation.shapes import ClassCall, Shape
from tisim.traces.tit.grammar import Grammar


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
    rules = [
        [(False, 0, 1), (True, 1, 1), (True, 1, 1), (False, 3, 1)],
        [(False, 1, 1), (False, 2, 1)],
    ]
    grammar = Grammar(rules, [6, 2])
    assert loops_of(grammar, [0, 1, 2, 3]) == (0, Repeat(2, (1, 2)), 3)


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
    # The numbers of a list that nobody has started say nothing.
    assert shown(*with_starters((0, 3), CALLS)) == [(), ()]


def test_a_loop_whose_first_wait_is_of_another_call_begins_elsewhere() -> None:
    loop = Repeat(3, (2, 0))  # after the receive of another rank
    items = (1, loop, 2)
    assert shown(*with_starters(items, CALLS)) == [(), (2,), (-3,), (), (1,)]
