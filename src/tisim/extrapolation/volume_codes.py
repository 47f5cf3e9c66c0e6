"""Volumes of computations as numbers, and back as the codes of packed traces."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tisim.formats.tit.shapes import VOLUME
from tisim.formats.tit.volumes import MILLION, volume_text

#: The text of a computation, with the mark of its volume.
COMPUTE = b"compute " + bytes([VOLUME])
# Codes of plain digits, see docs/tit.md.
_DIGITS = 1 << 50


def value_of(code: int) -> Fraction:
    """The number that a code stands for."""
    return Fraction(volume_text(code))


def code_of(value: int) -> int:
    """The code of a whole number, written in digits."""
    return value if value < MILLION else _DIGITS + value


def codes_of(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The codes of whole numbers, as `code_of`."""
    return np.where(values < MILLION, values, _DIGITS + values)


def whole_volumes(codes: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The whole numbers of codes; None where a volume is no whole number."""
    known, at = np.unique(codes, return_inverse=True)
    volumes = [value_of(code) for code in known.tolist()]
    if any(volume.denominator != 1 for volume in volumes):
        return None
    return np.array([int(volume) for volume in volumes], dtype=np.int64)[at]
