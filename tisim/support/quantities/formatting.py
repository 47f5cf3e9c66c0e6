"""Quantities as text for people: in a unit that makes them short, with a few digits.

The units are those that `tisim.support.quantities.parsing` reads: seconds down to nanoseconds, and
prefixes that are powers of 1000.
"""

from __future__ import annotations


def unit_of_time(seconds: float) -> tuple[str, float]:
    """The unit in which a time has digits before the point, and how many of it are a second."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if abs(seconds) * factor >= 1:
            return unit, factor
    return ("ns", 1e9) if seconds else ("s", 1.0)


def format_time(seconds: float, digits: int = 4, *, signed: bool = False) -> str:
    """A time such as ``1.25 ms``.

    Parameters
    ----------
    seconds
        The time.
    digits
        Significant digits.
    signed
        Whether positive times get a sign too, as differences do.
    """
    unit, factor = unit_of_time(seconds)
    return f"{seconds * factor:{'+' if signed else ''}.{digits}g} {unit}"


def format_seconds(seconds: float) -> str:
    """A time in seconds with nine significant digits, so that times can be compared."""
    return f"{seconds:.9g} s"


def prefix_of(value: float) -> tuple[float, str]:
    """The factor and the name of the prefix that makes a number short: ``1e9``, ``G``."""
    for power, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= power:
            return power, prefix
    return 1.0, ""


def format_quantity(value: float, unit: str) -> str:
    """A number with the prefix of its unit that makes it short, such as ``1.25 GB/s``.

    Parameters
    ----------
    value
        The number, in `unit`.
    unit
        The unit without a prefix: ``B``, ``B/s``, ``flop/s``.
    """
    power, prefix = prefix_of(value)
    return f"{value / power:.4g} {prefix}{unit}"


def format_bytes(count: float) -> str:
    """A number of bytes such as ``64 B`` or ``1.5 MB``."""
    return format_quantity(count, "B")


def count_of(number: int, what: str, plural: str = "s") -> str:
    """A number of things such as ``1 rank`` or ``2,048 ranks``."""
    return f"{number:,} {what}{'' if number == 1 else plural}"
