"""Known names that look like one that is not known, for the messages of errors."""

from __future__ import annotations

from collections.abc import Iterable

# A longer name is not a misspelling, and comparing it would take seconds.
_LONGEST = 200


def similar(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> list[str]:
    """At most `most` of the known names, the most similar first (0: any, 1: equal ones)."""
    if len(name) > _LONGEST:
        return []
    import difflib

    compared = [word for word in known if len(word) <= _LONGEST]
    return difflib.get_close_matches(name, compared, n=most, cutoff=cutoff)
