"""Fits of computation volumes over the number of ranks: least squares with cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tisim import _core
from tisim.errors import InputError
from tisim.traces.extrapolated import LeaveOneOutFit
from tisim.traces.packed_program import VOLUME

#: Assumptions on how volumes scale with the number of ranks.
SCALINGS = ("auto", "strong", "weak")
#: Minimum number of sizes for checking a function.
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
class Curve:
    """A volume as a function a t + c of the number of ranks."""

    term: Callable[[float], float]
    factor: float
    offset: float

    def evaluate(self, ranks: float) -> float:
        """Return the volume at a number of ranks."""
        return self.factor * self.term(ranks) + self.offset


class UnexplainedVolumeError(InputError):
    """An exact volume that no function explains, so that only means can be fitted."""


@dataclass(frozen=True)
class VolumeFit:
    """A function for a volume."""

    family: str
    #: Its value at the target.
    value: float
    #: The largest relative error of predicting a size from the others.
    error: float
    curve: Curve
    #: Fitted numbers of ranks with their mean volumes.
    means: tuple[tuple[int, float], ...]
    #: The same function fitted without each of these sizes.
    without: tuple[Curve, ...]
    #: Relative errors of these fits at the omitted size: (actual - predicted) / predicted.
    errors: tuple[float, ...]

    def leave_one_out(self, ranks: int) -> tuple[LeaveOneOutFit, ...]:
        """Return the values at a number of ranks of the leave-one-out fits."""
        return tuple(
            LeaveOneOutFit(size, max(curve.evaluate(ranks), 0.0), error)
            for (size, _), curve, error in zip(self.means, self.without, self.errors, strict=True)
        )


def fit_volumes(means: Sequence[tuple[int, float]], target: int, scaling: str) -> VolumeFit:
    """Return the function that best predicts each size from the others."""
    terms = {
        "auto": {**_STEADY, **_FALLING},
        "strong": _FALLING,
        "weak": _STEADY,
    }[scaling]
    found: list[VolumeFit] = []
    for name, term in terms.items():
        for with_offset in (False, True):
            if with_offset and (name == "constant" or len(means) <= FEWEST_SIZES - 1):
                continue
            fit = _fitted(name, term, with_offset, means, target)
            if fit.value >= 0:
                found.append(fit)
    # Of equally good functions, the first has the fewest constants.
    return min(found, key=lambda fit: round(fit.error, 3))


def _fitted(
    name: str,
    term: Callable[[float], float],
    with_offset: bool,
    means: Sequence[tuple[int, float]],
    target: int,
) -> VolumeFit:
    points = np.array([term(float(p)) for p, _ in means])
    volumes = np.array([volume for _, volume in means])

    def curve(kept: NDArray[np.bool_]) -> Curve:
        columns = [points[kept], np.ones(int(kept.sum()))][: 1 + with_offset]
        solved = np.linalg.lstsq(np.column_stack(columns), volumes[kept], rcond=None)[0]
        return Curve(term, float(solved[0]), float(solved[1]) if with_offset else 0.0)

    places = np.arange(len(means))
    whole = curve(np.ones(len(means), dtype=np.bool_))
    without = tuple(curve(places != out) for out in places)
    worst, errors = 0.0, []
    for (ranks, volume), other in zip(means, without, strict=True):
        predicted = other.evaluate(ranks)
        worst = max(worst, abs(predicted - volume) / max(abs(volume), 1.0))
        errors.append((volume - predicted) / max(abs(predicted), 1.0))
    return VolumeFit(
        f"{name} + c" if with_offset else name,
        whole.evaluate(target),
        worst,
        whole,
        tuple(means),
        without,
        tuple(errors),
    )


#: The text of a computation, with the mark of its volume.
COMPUTE = b"compute " + bytes([VOLUME])
# Codes of whole numbers, see docs/tit.md: codes of those from this on are offset by _DIGITS.
_MILLION = 1_000_000
_DIGITS = 1 << 50


def value_of(code: int) -> Fraction:
    """Return the number that a code represents."""
    return Fraction(_core.volume_text(code))


def code_of(value: int) -> int:
    """Return the code of a whole number in digits. Raises InputError for 2^50 or more."""
    return int(codes_of(np.array([min(value, _DIGITS)], dtype=np.int64))[0])


def codes_of(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the codes of whole numbers, as `code_of` does."""
    most = int(values.max(initial=0))
    if most >= _DIGITS:
        raise InputError(
            "a computation would have at least 2^50 instructions, more than a packed trace "
            "supports; extrapolate to fewer ranks"
        )
    return np.where(values < _MILLION, values, values + _DIGITS)


def whole_volumes(codes: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return the whole numbers of codes; None if a volume is not a whole number."""
    known, at = np.unique(codes, return_inverse=True)
    volumes = [value_of(code) for code in known.tolist()]
    if any(volume.denominator != 1 for volume in volumes):
        return None
    return np.array([int(volume) for volume in volumes], dtype=np.int64)[at]
