"""Quantities with units: parsed in the notation of SimGrid's platform files, formatted for people.

The units are those of the comment in ``simgrid.dtd``; a bare number is in base units (flop/s,
bytes/s, seconds, bytes). Prefixes without ``i`` are powers of 1000, those with it powers of
1024; ``B`` is a byte and ``b`` a bit. Formatted quantities have a unit that makes them short, and a
few digits.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Final, TypedDict, Unpack

from tisim.errors import InputError

_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*?)\s*")

_DECIMAL: Final = ("k", "M", "G", "T", "P", "E", "Z", "Y")
_BINARY: Final = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi")
_WORDS: Final = ("kilo", "mega", "giga", "tera", "peta", "exa", "zetta", "yotta")


def _scale(unit: str, value: float, prefixes: tuple[str, ...], step: float) -> dict[str, float]:
    """Return `unit` and its multiples; each is the previous one times `step`, as in SimGrid."""
    units = {unit: value}
    for prefix in prefixes:
        value *= step
        units[prefix + unit] = value
    return units


def _bits_and_bytes(suffix: str) -> dict[str, float]:
    units: dict[str, float] = {}
    for name, value in (("b" + suffix, 0.125), ("B" + suffix, 1.0)):
        units |= _scale(name, value, _DECIMAL, 1000.0)
        units |= _scale(name, value, _BINARY, 1024.0)
    return units


_SPEED: Final = _scale("f", 1.0, _DECIMAL, 1000.0) | _scale("flops", 1.0, _WORDS, 1000.0)
_BANDWIDTH: Final = _bits_and_bytes("ps")
_SIZE: Final = _bits_and_bytes("")
_TIME: Final = {
    "w": 7 * 24 * 3600.0,
    "d": 24 * 3600.0,
    "h": 3600.0,
    "m": 60.0,
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "ns": 1e-9,
    "ps": 1e-12,
}


class Place(TypedDict, total=False):
    """Location of a text, for an error message."""

    file: str | os.PathLike[str] | None
    line: int | None


def parse_speed(text: str, what: str = "speed", **place: Unpack[Place]) -> float:
    """Parse a speed such as ``3.68Gf`` or ``2megaflops``, in flop/s; the default unit is flop/s.

    `what` names the quantity in error messages. Raises `InputError` if there is no number, the unit
    is unknown, or the quantity is negative or not finite.
    """
    return _parse(text, _SPEED, "f", what, place)


def parse_bandwidth(text: str, what: str = "bandwidth", **place: Unpack[Place]) -> float:
    """Parse a bandwidth such as ``125MBps`` or ``1Gbps``, in bytes/s; see `parse_speed`."""
    return _parse(text, _BANDWIDTH, "Bps", what, place)


def parse_time(text: str, what: str = "time", **place: Unpack[Place]) -> float:
    """Parse a duration such as ``15us`` or ``2h``, in seconds; see `parse_speed`."""
    return _parse(text, _TIME, "s", what, place)


def parse_size(text: str, what: str = "size", **place: Unpack[Place]) -> float:
    """Parse a size such as ``64KiB`` or ``8kb``, in bytes; see `parse_speed`."""
    return _parse(text, _SIZE, "B", what, place)


def _parse(text: str, units: Mapping[str, float], base: str, what: str, place: Place) -> float:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise InputError(
            f"{what} must be a number with a unit, such as 1{base}, not {text!r}", **place
        )
    number, unit = match.groups()
    factor = units.get(unit or base)
    if factor is None:
        message = f"unknown unit {unit!r} in the {what} {text!r}: {_suggestion(unit, units, base)}"
        raise InputError(message, **place)
    value = float(number) * factor
    if value < 0 or value == float("inf"):
        raise InputError(f"{what} must be finite and not negative, not {text!r}", **place)
    return value


def _suggestion(unit: str, units: Mapping[str, float], base: str) -> str:
    import difflib

    folded = unit.casefold()
    alike = [known for known in units if known.casefold() == folded]
    alike = alike or difflib.get_close_matches(unit, units, n=3)
    if alike:
        return "did you mean " + " or ".join(alike) + "?"
    return f"use {base}, or a multiple of it such as {next(u for u in units if u != base)}"


def unit_of_time(seconds: float) -> tuple[str, float]:
    """Return the largest unit in which a time is at least 1, and its number per second."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if abs(seconds) * factor >= 1:
            return unit, factor
    return ("ns", 1e9) if seconds else ("s", 1.0)


def format_time(seconds: float, digits: int = 4, *, signed: bool = False) -> str:
    """Format a time such as ``1.25 ms``.

    It has `digits` significant digits; with `signed`, positive times also get a sign, for
    differences.
    """
    unit, factor = unit_of_time(seconds)
    return f"{seconds * factor:{'+' if signed else ''}.{digits}g} {unit}"


#: Number of significant digits of printed results (``--digits``).
DIGITS: ContextVar[int] = ContextVar("digits", default=6)


def format_seconds(seconds: float) -> str:
    """Format a time in seconds with the digits of results."""
    return f"{seconds:.{DIGITS.get()}g} s"


def format_number(value: float) -> str:
    """Format a number with the digits of results; whole numbers in full."""
    whole = float(value).is_integer()
    return f"{value:,.0f}" if whole else f"{value:,.{DIGITS.get()}g}"


def format_result_time(seconds: float, *, signed: bool = False) -> str:
    """Format a time such as ``1.25438 ms``, with the digits of results."""
    return format_time(seconds, DIGITS.get(), signed=signed)


def prefix_of(value: float) -> tuple[float, str]:
    """Return the factor and the name of the prefix that makes a number short: ``1e9``, ``G``."""
    for power, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= power:
            return power, prefix
    return 1.0, ""


def format_quantity(value: float, unit: str) -> str:
    """Format a number with the unit prefix that makes it short, such as ``1.25 GB/s``."""
    power, prefix = prefix_of(value)
    return f"{value / power:.4g} {prefix}{unit}"


def format_bytes(count: float) -> str:
    """Format a number of bytes such as ``64 B`` or ``1.5 MB``."""
    return format_quantity(count, "B")


def format_count(number: int, what: str, plural: str = "s") -> str:
    """Format a number of things such as ``1 rank`` or ``2,048 ranks``."""
    return f"{number:,} {what}{'' if number == 1 else plural}"
