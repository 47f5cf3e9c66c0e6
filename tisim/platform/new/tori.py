"""Tori: dimensions as equal as possible."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

from tisim.errors import InputError
from tisim.platform.new.nearest import checked_count, refusal

# A torus that is chosen has no dimension this many times as long as another.
_MOST_UNEQUAL = 4
_DIMENSIONS = 3


def torus_sizes(nodes: int, sizes: Sequence[int] | None = None) -> tuple[int, ...]:
    """The sizes of the dimensions of a torus.

    Parameters
    ----------
    nodes
        Number of hosts.
    sizes
        The sizes, if they are given; three nearly equal ones if None.

    Raises
    ------
    InputError
        If they do not multiply to `nodes`, or there are no nearly equal ones.
    """
    checked_count(nodes, "the number of hosts")
    if sizes is not None:
        for size in sizes:
            checked_count(size, "the size of a dimension")
        if not sizes or math.prod(sizes) != nodes:
            written = " x ".join(map(str, sizes))
            raise InputError(
                f"a torus of {written} has {math.prod(sizes)} hosts, not {nodes}; the nearest "
                f"that it can have: {math.prod(sizes)}"
            )
        return tuple(sizes)
    found = _nearly_equal(nodes)
    if found is None:
        remedy = "; or give the sizes (--dims 4,5)"
        what = "a torus of three nearly equal dimensions"
        raise refusal(nodes, what, lambda n: _nearly_equal(n) is not None, remedy)
    return found


@lru_cache(maxsize=1 << 16)
def _nearly_equal(nodes: int) -> tuple[int, ...] | None:
    """Three sizes in descending order, the most equal ones; None if none are nearly equal."""
    return min(_factorings(nodes), key=lambda sizes: sizes[0] / sizes[-1], default=None)


def _factorings(nodes: int) -> Iterator[tuple[int, ...]]:
    for low in range(2, round(nodes ** (1 / _DIMENSIONS)) + 1):
        if nodes % low:
            continue
        rest = nodes // low
        for middle in range(low, math.isqrt(rest) + 1):
            high = rest // middle
            if rest % middle == 0 and high < _MOST_UNEQUAL * low:
                yield high, middle, low
