"""Volumes of computations as numbers, and back as the codes of packed traces."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tisim.errors import InputError
from tisim.traces.tit.shapes import VOLUME
from tisim.traces.tit.volumes import FIRST_LONG, MILLION, volume_text

#: The text of a computation, with the mark of its volume.
COMPUTE = b"compute " + bytes([VOLUME])
# Whole numbers in digits, see docs/tit.md: those below this stand behind it, larger ones behind
# FIRST_LONG.
_DIGITS = 1 << 50
_MOST = 10**17


def value_of(code: int) -> Fraction:
    """The number that a code stands for."""
    return Fraction(volume_text(code))


def code_of(value: int) -> int:
    """The code of a whole number, written in digits.

    Raises
    ------
    InputError
        When it has more than 17 digits.
    """
    return int(codes_of(np.array([min(value, _MOST)], dtype=np.int64))[0])


def codes_of(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The codes of whole numbers, as `code_of`."""
    most = int(values.max(initial=0))
    if most >= _MOST:
        raise InputError(
            "a computation would have 10^17 instructions or more, and a packed trace holds volumes "
            "of up to 17 digits; extrapolate to fewer ranks"
        )
    first: NDArray[np.int64] = np.select(
        [values < MILLION, values < _DIGITS], [0, _DIGITS], FIRST_LONG
    )
    return values + first


def whole_volumes(codes: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The whole numbers of codes; None where a volume is no whole number."""
    known, at = np.unique(codes, return_inverse=True)
    volumes = [value_of(code) for code in known.tolist()]
    if any(volume.denominator != 1 for volume in volumes):
        return None
    return np.array([int(volume) for volume in volumes], dtype=np.int64)[at]
