"""Numbers as people read them."""

from __future__ import annotations


def unit_of_time(seconds: float) -> tuple[str, float]:
    """A unit in which a time can be read, and how many of it are a second."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if abs(seconds) * factor >= 1:
            return unit, factor
    return ("ns", 1e9) if seconds else ("s", 1.0)


def format_time(seconds: float, digits: int = 4) -> str:
    """Seconds in a unit in which they can be read."""
    unit, factor = unit_of_time(seconds)
    return f"{seconds * factor:.{digits}g} {unit}"


def format_bytes(count: float) -> str:
    """Bytes in a unit in which they can be read."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(count) >= factor:
            return f"{count / factor:.4g} {unit}"
    return f"{count:.4g} B"
