"""The dialects of traces."""

from __future__ import annotations

from tisim import _core
from tisim.errors import InputError

#: By user-visible name.
DIALECTS = {
    "auto": _core.Dialect.AUTOMATIC,
    "modern": _core.Dialect.MODERN,
    "legacy": _core.Dialect.LEGACY,
}


def dialect_number(name: str) -> _core.Dialect:
    """Return the core's number of a dialect. Raises InputError for an unknown name."""
    if name not in DIALECTS:
        known = ", ".join(DIALECTS)
        raise InputError(f"unknown dialect '{name}' of traces; known are {known}")
    return DIALECTS[name]
