"""Factors by which computations between two calls are shortened (``smpi/comp-adjustment-file``)."""

from __future__ import annotations

from tisim.errors import InputError
from tisim.support.reading import read_text


def read_speedups(path: str) -> dict[str, float]:
    """Read a file of ``"file:line:file:line",factor`` lines after one line of headings.

    Raises an `InputError` if the file cannot be read, or a line is not of that form.
    """
    import csv

    lines = read_text(path, "this smpi/comp-adjustment-file").splitlines()
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
