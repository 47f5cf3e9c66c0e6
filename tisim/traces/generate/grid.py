"""Grids of processes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tisim.errors import InputError


def process_grid(ranks: int, dimensions: int) -> tuple[int, ...]:
    """Arrange ranks in a grid whose sides differ as little as possible, the longest first.

    Parameters
    ----------
    ranks
        Number of ranks.
    dimensions
        1, 2 or 3.

    Returns
    -------
    tuple of int
        The sides; their product is `ranks`.

    Examples
    --------
    >>> process_grid(24, 3)
    (4, 3, 2)
    """
    if dimensions == 1:
        return (ranks,)
    # The largest divisor that is not above the root leaves the most even rest.
    side = next(
        s
        for s in range(round(ranks ** (1 / dimensions)) + 1, 0, -1)
        if ranks % s == 0 and s**dimensions <= ranks
    )
    return *process_grid(ranks // side, dimensions - 1), side


def check_grid(sides: Sequence[int], ranks: int, dimensions: int) -> None:
    """Check that a grid has `ranks` ranks.

    Raises
    ------
    InputError
        When it is not.
    """
    shown = "x".join(map(str, sides))
    if len(sides) != dimensions or min(sides) < 1:
        example = "x".join(map(str, process_grid(ranks, dimensions)))
        raise InputError(f"a grid of {dimensions} dimensions is written {example}, not {shown}")
    if math.prod(sides) != ranks:
        raise InputError(
            f"the grid {shown} has {math.prod(sides)} places for {ranks} ranks; "
            f"{'x'.join(map(str, process_grid(ranks, dimensions)))} would do"
        )


def neighbour(rank: int, sides: Sequence[int], dimension: int, step: int, periodic: bool) -> int:
    """The rank that stands `step` places on in a grid; -1 where the grid has ended.

    Ranks are numbered with the first dimension running fastest.
    """
    stride = math.prod(sides[:dimension])
    side = sides[dimension]
    place = rank // stride % side
    target = place + step
    if not 0 <= target < side:
        if not periodic:
            return -1
        target %= side
    return rank + (target - place) * stride
