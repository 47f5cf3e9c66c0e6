"""Factors by which computations between two calls are shortened (``smpi/comp-adjustment-file``)."""

from __future__ import annotations

from pathlib import Path

from tisim.errors import InputError


def read_speedups(path: str) -> dict[str, float]:
    """Read a file of ``"file:line:file:line",factor`` lines after one line of headings.

    Raises an `InputError` if the file cannot be read, or a line is not of that form.
    """
    import csv

    try:
        lines = Path(path).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not text"
        raise InputError(
            f"cannot read this smpi/comp-adjustment-file: {reason}", file=path
        ) from None
    speedups: dict[str, float] = {}
    for number, row in enumerate(csv.reader(lines[1:]), 2):
        if not row:
            continue
        try:
            factor = float(row[1])
        except (IndexError, ValueError):
            factor = 0.0
        if factor <= 0:
            raise InputError(
                'a line is "start:stop",factor with a factor above zero', file=path, line=number
            )
        speedups.setdefault(row[0].strip(), factor)
    return speedups
