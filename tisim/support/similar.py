"""Known names that resemble an unknown one, for error messages."""

from __future__ import annotations

from collections.abc import Iterable

# A longer name is not a misspelling, and comparing it would take seconds.
_MAX_LENGTH = 200


def similar(name: str, known: Iterable[str], limit: int = 1, cutoff: float = 0.6) -> list[str]:
    """Return at most `limit` known names, most similar first (`cutoff` 0: any, 1: equal ones)."""
    if len(name) > _MAX_LENGTH:
        return []
    import difflib

    compared = [word for word in known if len(word) <= _MAX_LENGTH]
    return difflib.get_close_matches(name, compared, n=limit, cutoff=cutoff)
