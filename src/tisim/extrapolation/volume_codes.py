"""Volumes of computations as numbers, and back as the codes of packed traces."""

from __future__ import annotations

from fractions import Fraction

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
