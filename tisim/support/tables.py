"""Tables of text."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from tisim.support.quantities import prefix_of, unit_of_time

# Digits behind the point of times in a unit in which the largest is at least 1.
_DECIMALS = 3


def align(rows: Sequence[Sequence[str]], left: int | Container[int] = 1) -> list[str]:
    """Lines in which the cells of each column stand below one another.

    `left` says which columns are aligned to the left, or how many of the first ones; the others are
    aligned to the right. Two blanks stand between columns.
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
    """The columns of a terminal that a text takes: two for a letter of Chinese, for instance."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(char) else 1 + (east_asian_width(char) in "WF") for char in text)


def time_column(name: str, seconds: Sequence[float]) -> list[str]:
    """Times in one unit, which the head names, so that they can be compared."""
    unit, factor = unit_of_time(max(map(abs, seconds), default=0.0))
    return [f"{name} ({unit})", *(f"{time * factor:.{_DECIMALS}f}" for time in seconds)]


def quantity_column(name: str, unit: str, values: Sequence[float]) -> list[str]:
    """Numbers with one prefix of their unit, which the head names: ``bandwidth (GB/s)``."""
    power, prefix = prefix_of(max(map(abs, values), default=0.0))
    decimals = _DECIMALS if prefix else 0
    numbers = (f"{value / power:,.{decimals}f}" for value in values)
    return [f"{name} ({prefix}{unit})", *numbers]


def html_facts(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Names and values under a title, as notebooks show them."""
    from html import escape  # has tables of its own, which only notebooks need

    body = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return (
        f'<table><caption style="text-align:left;font-weight:bold">{escape(title)}</caption>'
        f"<tbody>{body}</tbody></table>"
    )
