"""Known names that resemble an unknown one, for error messages."""

from __future__ import annotations

from collections.abc import Iterable

# A longer name is not a misspelling, and comparing it would take seconds.
_LONGEST = 200


def similar(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> list[str]:
    """Return at most `most` known names, most similar first (`cutoff` 0: any, 1: equal ones)."""
    if len(name) > _LONGEST:
        return []
    import difflib

    compared = [word for word in known if len(word) <= _LONGEST]
    return difflib.get_close_matches(name, compared, n=most, cutoff=cutoff)
