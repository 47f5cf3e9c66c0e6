"""Tables that depend on the size of a message, as SimGrid's options write them.

``65536:0.9;1420:0.6;0:0.4`` is a table of factors: boundary in bytes, then the value for sizes
above it. ``0:1us:2e-10;1420:5us:0`` is a table of overheads: boundary, seconds, seconds a byte.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

from tisim.errors import InputError
from tisim.support.quantities.parsing import parse_size, parse_time


@dataclass(frozen=True, slots=True)
class StepTable:
    """A factor that changes where the size exceeds a boundary.

    Attributes
    ----------
    boundaries
        In bytes, increasing.
    values
        The factor for sizes above each boundary, up to the next one.
    first
        The factor for sizes up to the first boundary (SimGrid 3.32, ``network_smpi.cpp``: 1).
    """

    boundaries: tuple[float, ...] = ()
    values: tuple[float, ...] = ()
    first: float = 1.0

    @classmethod
    def constant(cls, value: float) -> StepTable:
        """The same factor for every size."""
        return cls(first=value)

    @classmethod
    def parse(cls, text: str) -> StepTable:
        """Read a table, or one number for every size.

        Raises
        ------
        InputError
            If the text is neither.
        """
        if ":" not in text and ";" not in text:
            return cls.constant(_number(text))
        rows = _rows(text, 1)
        return cls(tuple(row[0] for row in rows), tuple(_number(row[1][0]) for row in rows))

    def at(self, size: float) -> float:
        """The factor for a message of `size` bytes."""
        position = bisect_left(self.boundaries, size)
        return self.values[position - 1] if position else self.first

    def __str__(self) -> str:
        if not self.boundaries:
            return f"{self.first!r}"
        pairs = zip(self.boundaries, self.values, strict=True)
        return ";".join(f"{boundary:.17g}:{value!r}" for boundary, value in pairs)


@dataclass(frozen=True, slots=True)
class OverheadTable:
    """Seconds that a call takes: base + per_byte * size of the row that the size falls in.

    Attributes
    ----------
    boundaries
        In bytes, increasing. Sizes up to the first boundary take the first row
        (SimGrid 3.32, ``smpi_host.cpp``).
    base
        In seconds.
    per_byte
        In seconds a byte.
    """

    boundaries: tuple[float, ...] = ()
    base: tuple[float, ...] = ()
    per_byte: tuple[float, ...] = ()

    @classmethod
    def parse(cls, text: str) -> OverheadTable:
        """Read a table; values after the second of a row are not used, as in SimGrid.

        Raises
        ------
        InputError
            If the text is not a table with a boundary and two values in each row.
        """
        rows = _rows(text, 2)
        return cls(
            tuple(row[0] for row in rows),
            tuple(parse_time(row[1][0], "the overhead") for row in rows),
            tuple(parse_time(row[1][1], "the overhead a byte") for row in rows),
        )

    def at(self, size: float) -> float:
        """Seconds for a message of `size` bytes."""
        if not self.boundaries:
            return 0.0
        row = max(bisect_left(self.boundaries, size) - 1, 0)
        return self.base[row] + self.per_byte[row] * size

    def __str__(self) -> str:
        rows = zip(self.boundaries, self.base, self.per_byte, strict=True)
        return ";".join(f"{boundary:.17g}:{base!r}:{slope!r}" for boundary, base, slope in rows)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise InputError(f"a factor is a number that is not negative, not {text.strip()!r}")
    return value


def _rows(text: str, columns: int) -> list[tuple[float, list[str]]]:
    """Rows of a table in the order of their boundaries."""
    rows: dict[float, list[str]] = {}
    for part in text.split(";"):
        words = [word.strip() for word in part.split(":") if word.strip()]
        if not words:
            continue
        if len(words) <= columns:
            shape = "boundary:factor" if columns == 1 else "boundary:seconds:seconds a byte"
            raise InputError(f"a row of the table is {shape}, not {part.strip()!r}")
        boundary = parse_size(words[0], "the boundary")
        if boundary in rows:
            raise InputError(f"the boundary {words[0]} comes twice")
        rows[boundary] = words[1:]
    return sorted(rows.items())
