"""Equal programs have equal loops, however their grammars were factored."""

from __future__ import annotations

from tisim.extrapolation.loops import Repeat, loops_of, normalized
from tisim.formats.tit.grammar import Grammar


def test_loops_begin_as_early_as_they_can() -> None:
    # 0 1 (2 3 1)^9 2 3 4 is 0 (1 2 3)^10 4.
    assert normalized((0, 1, Repeat(9, (2, 3, 1)), 2, 3, 4)) == (0, Repeat(10, (1, 2, 3)), 4)


def test_repetitions_are_found_again() -> None:
    plane = (1, 2, 2)
    inner = (1, Repeat(2, (2,)))
    assert normalized(plane * 3 + (5,) + plane * 3 + (5,)) == (Repeat(2, (Repeat(3, inner), 5)),)


def test_loops_of_loops_are_one() -> None:
    assert normalized((Repeat(3, (Repeat(4, (7,)),)),)) == (Repeat(12, (7,)),)


def test_rules_that_are_no_loops_are_spelled_out() -> None:
    rules = [
        [(False, 0, 1), (True, 1, 1), (True, 1, 1), (False, 3, 1)],
        [(False, 1, 1), (False, 2, 1)],
    ]
    grammar = Grammar(rules, [6, 2])
    assert loops_of(grammar, [0, 1, 2, 3]) == (0, Repeat(2, (1, 2)), 3)
