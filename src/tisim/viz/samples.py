"""Samples of what is too much to show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


def sample(rows: NDArray[Any], most: int) -> NDArray[Any]:
    """Some of the rows, chosen at random, in random order; all of them if they are few enough.

    Every n-th of the messages of a regular program may be one rank's only. The same rows always
    give the same sample.
    """
    import numpy as np

    count = len(rows)
    chosen: NDArray[Any] = rows[
        np.random.default_rng(count).choice(count, min(count, most), replace=False)
    ]
    return chosen
