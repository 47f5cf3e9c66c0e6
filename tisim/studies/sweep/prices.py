"""Prices of the values of a sweep's axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tisim.errors import InputError
from tisim.platform.scaling import factor_of, factor_text


class Prices:
    """Price of each value of some axes; a scenario costs the sum over its values.

    Takes, by axis, the price of each value (as in tables), in any one currency.
    """

    def __init__(self, prices: Mapping[str, object]) -> None:
        self._prices: dict[str, dict[str, float]] = {}
        for axis, values in prices.items():
            if not isinstance(values, Mapping) or not values:
                raise InputError(
                    f"the prices of {axis} must be a price for each value, such as "
                    f'{{"x1" = 100, "x2" = 180}}, not {values!r}'
                )
            self._prices[axis] = {
                _key(value): _price(axis, value, price) for value, price in values.items()
            }

    def check(self, axes: Sequence[str]) -> None:
        """Raise `InputError` unless all axes with prices are axes of the sweep."""
        for axis in self._prices:
            if axis not in axes:
                raise InputError(
                    f"{axis} has prices but does not vary; what varies: {', '.join(axes)}"
                )

    def cost(self, parameters: Mapping[str, object]) -> float:
        """Return the cost of a scenario; an axis that it does not set costs nothing.

        Raises `InputError` if one of its values has no price.
        """
        total = 0.0
        for axis, known in self._prices.items():
            value = parameters.get(axis)
            if value is None or value != value:
                continue
            price = known.get(_key(value))
            if price is None:
                raise InputError(
                    f"{axis} = {value} has no price; values with one: {', '.join(known)}"
                )
            total += price
        return total


class Offer(NamedTuple):
    """A scenario with its cost and its time in seconds."""

    cost: float
    time: float
    name: str


def pareto_front(offers: Sequence[Offer]) -> list[int]:
    """Return the places of the offers that none beats in cost and time, cheapest first."""
    order = sorted(range(len(offers)), key=lambda place: (offers[place].cost, offers[place].time))
    best: list[int] = []
    for place in order:
        if not best or offers[place].time < offers[best[-1]].time:
            best.append(place)
    return best


def _key(value: object) -> str:
    """Return a value as text; equal numbers and factors have equal texts."""
    factor = factor_of(str(value))
    if factor is not None:
        return factor_text(factor)
    try:
        return f"{float(str(value)):.12g}"
    except ValueError:
        return str(value)


def _price(axis: str, value: object, price: object) -> float:
    is_number = isinstance(price, int | float) and not isinstance(price, bool)
    if not is_number or not math.isfinite(float(str(price))) or float(str(price)) < 0:
        raise InputError(
            f"the price of {axis} = {value} must be a non-negative number, not {price!r}"
        )
    return float(str(price))
