"""Samples of what is too much to show."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_Row = TypeVar("_Row", bound="np.generic")


def sample(rows: NDArray[_Row], most: int) -> NDArray[_Row]:
    """Some of the rows, chosen at random, in random order; all of them if they are few enough.

    Every n-th of the messages of a regular program may be one rank's only. The same rows always
    give the same sample.
    """
    import numpy as np

    count = len(rows)
    chosen: NDArray[_Row] = rows[
        np.random.default_rng(count).choice(count, min(count, most), replace=False)
    ]
    return chosen
