"""Text tables."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from tisim.support.quantities import prefix_of, unit_of_time

# Decimals of times in a unit in which the largest is at least 1.
_DECIMALS = 3


def align(rows: Sequence[Sequence[str]], left: int | Container[int] = 1) -> list[str]:
    """Return lines with aligned columns.

    `left` gives the left-aligned columns, or the number of the first ones; the others are aligned
    to the right. Two blanks separate columns.
    """
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    to_the_left = range(left) if isinstance(left, int) else left
    return [
        "  ".join(
            text + " " * (width - _width(text))
            if column in to_the_left
            else " " * (width - _width(text)) + text
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _width(text: str) -> int:
    """Return the terminal columns that a text takes, such as two for a Chinese character."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(char) else 1 + (east_asian_width(char) in "WF") for char in text)


def time_column(name: str, seconds: Sequence[float]) -> list[str]:
    """Format times in a common unit, which the header names."""
    unit, factor = unit_of_time(max(map(abs, seconds), default=0.0))
    return [f"{name} ({unit})", *(f"{time * factor:.{_DECIMALS}f}" for time in seconds)]


def quantity_column(name: str, unit: str, values: Sequence[float]) -> list[str]:
    """Format numbers with a common unit prefix, which the header names: ``bandwidth (GB/s)``."""
    power, prefix = prefix_of(max(map(abs, values), default=0.0))
    decimals = _DECIMALS if prefix else 0
    numbers = (f"{value / power:,.{decimals}f}" for value in values)
    return [f"{name} ({prefix}{unit})", *numbers]


def html_facts(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return names and values under a title as HTML, for notebooks."""
    from html import escape  # has large tables, which only notebooks need

    body = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return (
        f'<table><caption style="text-align:left;font-weight:bold">{escape(title)}</caption>'
        f"<tbody>{body}</tbody></table>"
    )
