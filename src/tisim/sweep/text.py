"""Tables of text."""

from __future__ import annotations

from collections.abc import Sequence


def align(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Lines in which the columns of some rows stand under each other.

    Parameters
    ----------
    rows
        Texts; all rows are of one length.
    left
        How many columns are flush left; the others are flush right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{text:<{width}}" if place < left else f"{text:>{width}}"
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
