"""Tables of text."""

from __future__ import annotations

from collections.abc import Container, Sequence


def align(rows: Sequence[Sequence[str]], left: int | Container[int] = 1) -> list[str]:
    """Lines in which the cells of each column stand below one another.

    Parameters
    ----------
    rows
        Cells; all rows are of one length.
    left
        The columns that are aligned to the left: how many of the first ones, or which. The others
        are aligned to the right.

    Returns
    -------
    list of str
        A line for each row, with two blanks between columns.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    to_the_left = range(left) if isinstance(left, int) else left
    return [
        "  ".join(
            text.ljust(width) if column in to_the_left else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
