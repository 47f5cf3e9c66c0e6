"""Volumes of computations over the number of ranks: least squares, checked on what is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: How volumes may scale with the number of ranks.
SCALINGS = ("auto", "strong", "weak")
#: Sizes that are needed to check a function.
FEWEST_SIZES = 3

# Terms t of the functions a t and a t + c: those that fall with the number of ranks, and others.
_FALLING: dict[str, Callable[[float], float]] = {
    "1/P": lambda p: 1 / p,
    "P^-2": lambda p: p**-2.0,
    "P^(-1/2)": lambda p: p**-0.5,
    "P^(-2/3)": lambda p: p ** (-2 / 3),
    "P^(-1/3)": lambda p: p ** (-1 / 3),
}
_STEADY: dict[str, Callable[[float], float]] = {
    "constant": lambda p: 1.0,
    "log2(P)": lambda p: float(np.log2(p)),
    "P": lambda p: p,
}


@dataclass(frozen=True)
class VolumeFit:
    """A function for a volume.

    Attributes
    ----------
    family
        Its name.
    value
        What it says of the target.
    error
        The largest relative error for a size, from the other ones.
    """

    family: str
    value: float
    error: float


def fit_volumes(means: Sequence[tuple[int, float]], target: int, scaling: str) -> VolumeFit:
    """The function that predicts each size best from the others.

    Parameters
    ----------
    means
        Numbers of ranks, and the mean volume there.
    target
        The number of ranks that is asked for.
    scaling
        One of `SCALINGS`.
    """
    ranks = np.array([p for p, _ in means], dtype=np.float64)
    volumes = np.array([volume for _, volume in means])
    terms = {
        "auto": {**_STEADY, **_FALLING},
        "strong": _FALLING,
        "weak": _STEADY,
    }[scaling]
    found: list[VolumeFit] = []
    for name, term in terms.items():
        points = np.array([term(p) for p in ranks])
        at = term(float(target))
        for with_offset in (False, True):
            if with_offset and (name == "constant" or len(means) <= FEWEST_SIZES - 1):
                continue
            matrix = np.column_stack([points, np.ones_like(points)] if with_offset else [points])
            row = np.array([at, 1.0] if with_offset else [at])
            value = float(row @ _solved(matrix, volumes))
            if value < 0:
                continue
            family = f"{name} + c" if with_offset else name
            found.append(VolumeFit(family, value, _left_out(matrix, volumes)))
    # Of functions that are as good, the one that comes first has the fewest constants.
    return min(found, key=lambda fit: round(fit.error, 3))


def _solved(matrix: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.linalg.lstsq(matrix, values, rcond=None)[0], dtype=np.float64)


def _left_out(matrix: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """The largest relative error of a size that is predicted from the others."""
    worst = 0.0
    for out in range(len(values)):
        kept = np.arange(len(values)) != out
        predicted = float(matrix[out] @ _solved(matrix[kept], values[kept]))
        scale = max(abs(float(values[out])), 1.0)
        worst = max(worst, abs(predicted - float(values[out])) / scale)
    return worst
