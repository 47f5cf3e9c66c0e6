"""A value over two axes, as coloured cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tisim.analysis.viz.charts.svg import blend, picture, shorten, text, titled

_CELL_WIDTH, _CELL_HEIGHT = 74.0, 26.0
_WIDEST = 22
_LETTER = 7.0  # the width of a letter, about
# From the least value to the greatest: lighter to darker, in grey too.
_RAMP = ((247, 244, 225), (242, 196, 109), (217, 115, 54), (139, 38, 64), (58, 14, 62))


def heat_map(
    values: Sequence[Sequence[float | None]],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    row_label: str,
    column_label: str,
    show: Callable[[float], str],
) -> str:
    """Draw cells with their values; None: there is none.

    Parameters
    ----------
    values
        By row and column.
    rows, columns
        Their names.
    row_label, column_label
        What they are.
    show
        Writes a value.
    """
    known = [value for row in values for value in row if value is not None]
    low, high = min(known), max(known)
    left = _LETTER * max(len(shorten(name, _WIDEST)) for name in rows) + 12
    # The name of the rows may be as long as it is: it has a line of its own above them.
    top = 58.0
    parts = [text(left, 12, column_label, faint=True), text(0, 50, row_label, faint=True)]
    for place, name in enumerate(columns):
        x = left + (place + 0.5) * _CELL_WIDTH
        parts.append(text(x, 32, shorten(name, 10), anchor="middle"))
    for row, (name, cells) in enumerate(zip(rows, values, strict=True)):
        y = top + row * _CELL_HEIGHT
        parts.append(text(left - 8, y + 17, shorten(name, _WIDEST), anchor="end"))
        for column, value in enumerate(cells):
            if value is None:
                continue
            x = left + column * _CELL_WIDTH
            part = (value - low) / (high - low) if high > low else 0.0
            red, green, blue = blend(_RAMP, part)
            cell = (
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{_CELL_WIDTH - 1}" '
                f'height="{_CELL_HEIGHT - 1}" fill="rgb({red},{green},{blue})"/>'
            )
            where = f"{row_label} {name}, {column_label} {columns[column]}"
            parts.append(titled(cell, f"{where}: {show(value)}"))
            dark = 0.3 * red + 0.59 * green + 0.11 * blue < 140
            ink = "#FFFFFF" if dark else "#1C1C1C"
            parts.append(
                f'<text x="{x + _CELL_WIDTH / 2:.1f}" y="{y + 17:.1f}" text-anchor="middle" '
                f'style="fill:{ink}">{show(value)}</text>'
            )
    width = max(
        left + len(columns) * _CELL_WIDTH,
        left + _LETTER * len(column_label),
        _LETTER * len(row_label),
    )
    return picture(width, top + len(rows) * _CELL_HEIGHT, parts, f"{row_label} and {column_label}")
