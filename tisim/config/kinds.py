"""The kinds of values of parameters, and their parsers.

Tables depend on the size of a message. ``65536:0.9;1420:0.6;0:0.4`` is a table of factors: boundary
in bytes, then the value for sizes above it. ``0:1us:2e-10;1420:5us:0`` is a table of overheads:
boundary, seconds, seconds per byte.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from tisim.errors import InputError
from tisim.support.quantities import parse_bandwidth, parse_size, parse_time


@dataclass(frozen=True, slots=True)
class StepTable:
    """Step function of the message size: a factor that changes at each boundary."""

    boundaries: tuple[float, ...] = ()  # in bytes, increasing
    values: tuple[float, ...] = ()  # factor for sizes above each boundary, up to the next one
    # Factor for sizes up to the first boundary (SimGrid 3.32, ``network_smpi.cpp``: 1).
    first: float = 1.0

    @classmethod
    def constant(cls, value: float) -> StepTable:
        """Return a table with the same factor for every size."""
        return cls(first=value)

    @classmethod
    def parse(cls, text: str) -> StepTable:
        """Read a table, or one number for every size.

        Raises `InputError` if the text is neither.
        """
        if ":" not in text and ";" not in text:
            return cls.constant(_number(text, "a factor"))
        rows = _rows(text, 1)
        return cls(
            tuple(row[0] for row in rows), tuple(_number(row[1][0], "a factor") for row in rows)
        )

    def at(self, size: float) -> float:
        """Return the factor for a message of `size` bytes."""
        position = bisect_left(self.boundaries, size)
        return self.values[position - 1] if position else self.first

    def __str__(self) -> str:
        if not self.boundaries:
            return f"{self.first!r}"
        pairs = zip(self.boundaries, self.values, strict=True)
        return ";".join(f"{boundary:.17g}:{value!r}" for boundary, value in pairs)


@dataclass(frozen=True, slots=True)
class OverheadTable:
    """Duration of a call in seconds: base + per_byte * size, in the row for the size."""

    # In bytes, increasing. Sizes up to the first boundary use the first row (SimGrid 3.32,
    # ``smpi_host.cpp``).
    boundaries: tuple[float, ...] = ()
    base: tuple[float, ...] = ()  # in seconds
    per_byte: tuple[float, ...] = ()  # in seconds per byte

    @classmethod
    def parse(cls, text: str) -> OverheadTable:
        """Read a table; values after the second of a row are not used, as in SimGrid.

        Raises `InputError` if the text is not a table with a boundary and two values in each row.
        """
        rows = _rows(text, 2)
        return cls(
            tuple(row[0] for row in rows),
            tuple(parse_time(row[1][0], "the overhead") for row in rows),
            tuple(parse_time(row[1][1], "the overhead per byte") for row in rows),
        )

    @property
    def is_nonzero(self) -> bool:
        """True if the overhead of some size is not zero."""
        return any(self.base) or any(self.per_byte)

    def at(self, size: float) -> float:
        """Return the seconds for a message of `size` bytes."""
        if not self.boundaries:
            return 0.0
        row = max(bisect_left(self.boundaries, size) - 1, 0)
        return self.base[row] + self.per_byte[row] * size

    def __str__(self) -> str:
        rows = zip(self.boundaries, self.base, self.per_byte, strict=True)
        return ";".join(f"{boundary:.17g}:{base!r}:{slope!r}" for boundary, base, slope in rows)


def _number(text: str, what: str = "it") -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise InputError(f"{what} must be a non-negative number, not {text.strip()!r}")
    return value


def _rows(text: str, columns: int) -> list[tuple[float, list[str]]]:
    """Parse the rows of a table, sorted by boundary."""
    rows: dict[float, list[str]] = {}
    for part in text.split(";"):
        words = [word.strip() for word in part.split(":") if word.strip()]
        if not words:
            continue
        if len(words) <= columns:
            shape = "boundary:factor" if columns == 1 else "boundary:seconds:seconds per byte"
            raise InputError(f"a row of the table must be {shape}, not {part.strip()!r}")
        boundary = parse_size(words[0], "the boundary")
        if boundary in rows:
            raise InputError(f"the boundary {words[0]} occurs twice")
        rows[boundary] = words[1:]
    return sorted(rows.items())


Value = bool | int | float | str | StepTable | OverheadTable

_ValueT = TypeVar("_ValueT", bound=Value, covariant=True)


@dataclass(frozen=True, slots=True)
class ValueKind(Generic[_ValueT]):
    """One kind of value."""

    name: str  # name of the kind in the documentation
    unit: str  # unit of the value, and of numbers written without one; empty for none
    # Parses the value; raises `InputError` for invalid text.
    read: Callable[[str], _ValueT]


_FLAGS: Final = dict.fromkeys(("yes", "on", "true", "1"), True) | dict.fromkeys(
    ("no", "off", "false", "0"), False
)


def _read_flag(text: str) -> bool:
    if text not in _FLAGS:
        raise InputError(f"must be yes or no (also on, off, true, false, 1, 0), not {text!r}")
    return _FLAGS[text]


def _read_count(text: str) -> int:
    if not text.isdecimal():
        raise InputError(f"must be a non-negative whole number, not {text!r}")
    return _whole(int(text), text)


def _read_bytes(text: str) -> int:
    size = parse_size(text, "it")
    if size != int(size):
        raise InputError(f"must be a whole number of bytes, not {text!r}")
    return _whole(int(size), text)


def _whole(number: int, text: str) -> int:
    """Return `number` if the core can represent it."""
    if number >= 1 << 63:
        raise InputError(f"must be below 2^63, not {text!r}")
    return number


def _read_bandwidth(text: str) -> float:
    bandwidth = parse_bandwidth(text, "it")
    if bandwidth == 0:
        raise InputError("must be above zero")
    return bandwidth


FLAG: Final = ValueKind("yes or no", "", _read_flag)
NUMBER: Final = ValueKind("number", "", _number)
COUNT: Final = ValueKind("whole number", "", _read_count)
SECONDS: Final = ValueKind("time", "s", lambda text: parse_time(text, "it"))
BYTES: Final = ValueKind("size", "B", _read_bytes)
BYTES_PER_SECOND: Final = ValueKind("bandwidth", "B/s", _read_bandwidth)
FACTORS: Final = ValueKind("factors by size", "B:factor", StepTable.parse)
OVERHEADS: Final = ValueKind("seconds by size", "B:s:s/B", OverheadTable.parse)
#: One of the parameter's choices.
CHOICE: Final = ValueKind("choice", "", str)
TEXT: Final = ValueKind("text", "", str)
