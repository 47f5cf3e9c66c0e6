"""Checks of the numbers that models return, which may be user-defined."""

from __future__ import annotations

import math
from numbers import Real

from tisim.errors import InputError


def check_result(
    model: object, method: str, value: object, *, positive: bool = False, finite: bool = True
) -> float:
    """Return `value`, the result of a method of a model, as a float.

    Raises an `InputError` if it is not a number, is negative, or is 0 (with `positive`) or infinite
    (with `finite`).
    """
    if isinstance(value, Real):
        number = float(value)
        if number >= 0 and not (positive and number == 0) and not (finite and math.isinf(number)):
            return number
    sign = "a positive" if positive else "a non-negative"
    raise InputError(
        f"{type(model).__name__}.{method} returned {value!r}; it must return {sign} "
        f"{'finite ' if finite else ''}number"
    )
