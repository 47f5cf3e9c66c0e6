"""What the value of a parameter can be, and how it is read from text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from tisim.config.tables import OverheadTable, StepTable
from tisim.errors import InputError
from tisim.support.quantities.parsing import parse_bandwidth, parse_size, parse_time

Value = bool | int | float | str | StepTable | OverheadTable

_ValueT = TypeVar("_ValueT", bound=Value, covariant=True)


@dataclass(frozen=True, slots=True)
class Kind(Generic[_ValueT]):
    """One kind of value.

    Attributes
    ----------
    name
        As the documentation says it.
    unit
        Of the value and of a number that is written without one; empty: none.
    read
        Turns text into the value; raises `InputError` if it is no such value.
    """

    name: str
    unit: str
    read: Callable[[str], _ValueT]


_FLAGS: Final = dict.fromkeys(("yes", "on", "true", "1"), True) | dict.fromkeys(
    ("no", "off", "false", "0"), False
)


def _read_flag(text: str) -> bool:
    if text not in _FLAGS:
        raise InputError(f"it is yes or no (also on, off, true, false, 1, 0), not {text!r}")
    return _FLAGS[text]


def _read_number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise InputError(f"it is a number that is not negative, not {text!r}")
    return value


def _read_count(text: str) -> int:
    if not text.isdecimal():
        raise InputError(f"it is a whole number that is not negative, not {text!r}")
    return int(text)


def _read_bytes(text: str) -> int:
    size = parse_size(text, "it")
    if size != int(size):
        raise InputError(f"it is a whole number of bytes, not {text!r}")
    return int(size)


def _read_bandwidth(text: str) -> float:
    bandwidth = parse_bandwidth(text, "it")
    if bandwidth == 0:
        raise InputError("it must be above zero")
    return bandwidth


def _read_seconds(text: str) -> float:
    return parse_time(text, "it")


FLAG: Final = Kind("yes or no", "", _read_flag)
NUMBER: Final = Kind("number", "", _read_number)
COUNT: Final = Kind("whole number", "", _read_count)
SECONDS: Final = Kind("time", "s", _read_seconds)
BYTES: Final = Kind("size", "B", _read_bytes)
BYTES_PER_SECOND: Final = Kind("bandwidth", "B/s", _read_bandwidth)
FACTORS: Final = Kind("factors by size", "B:factor", StepTable.parse)
OVERHEADS: Final = Kind("seconds by size", "B:s:s/B", OverheadTable.parse)
#: One of the parameter's choices.
CHOICE: Final = Kind("choice", "", str)
TEXT: Final = Kind("text", "", str)
