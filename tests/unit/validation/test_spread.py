"""What repeated measurements say about their median."""

from __future__ import annotations

import random

import pytest

from tisim.studies.validation.comparison import median_interval, quartile_distance


def test_few_values_are_all_that_is_known() -> None:
    assert median_interval([3.0]) == (3.0, 3.0)
    assert median_interval([5.0, 1.0, 4.0, 2.0, 3.0]) == (1.0, 5.0)


def test_many_values_say_more() -> None:
    # With 20 values the sixth and the fifteenth: the classical table of the sign test.
    assert median_interval([float(value) for value in range(1, 21)]) == (6.0, 15.0)


@pytest.mark.parametrize("count", [6, 9, 15, 40])
def test_it_holds_the_median_often_enough(count: int) -> None:
    draw = random.Random(count)
    held = 0
    for _ in range(2000):
        low, high = median_interval([draw.lognormvariate(0, 1) for _ in range(count)])
        held += low <= 1 <= high
    assert held / 2000 >= 0.945


def test_quartiles() -> None:
    assert quartile_distance([1.0]) == 0
    assert quartile_distance([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(2 / 3)
    assert quartile_distance([2.0] * 5) == 0
