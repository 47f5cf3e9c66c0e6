"""Pieces of SVG that charts are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

#: Okabe and Ito's colours, which colour-blind readers tell apart.
HUES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8A6D00", "#56B4E9", "#7A3B00", "#555599")


def picture(width: float, height: float, parts: Iterable[str], label: str) -> str:
    """An SVG element with these parts."""
    return (
        f'<svg class="plot" role="img" aria-label="{escape(label)}" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">\n'
        + "\n".join(parts)
        + "\n</svg>"
    )


def text(x: float, y: float, words: str, *, anchor: str = "start", faint: bool = False) -> str:
    """A line of text."""
    look = ' class="faint"' if faint else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{look}>{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, look: str = 'class="axis"') -> str:
    """A straight line; `look` are attributes."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {look}/>'


def titled(element: str, title: str) -> str:
    """An element that ends with ``/>``, with a tooltip."""
    tag = element[1:].split(" ", 1)[0]
    return f"{element.removesuffix('/>')}><title>{escape(title)}</title></{tag}>"


def blend(ramp: Sequence[tuple[int, int, int]], part: float) -> tuple[int, int, int]:
    """The colour (red, green, blue) at a part, 0 to 1, of the way along a ramp."""
    at = min(part, 1.0) * (len(ramp) - 1)
    first = min(int(at), len(ramp) - 2)
    weight = at - first
    red, green, blue = (
        round(a + weight * (b - a)) for a, b in zip(ramp[first], ramp[first + 1], strict=True)
    )
    return red, green, blue


def shorten(words: str, most: int) -> str:
    """A text of so many characters at most."""
    return words if len(words) <= most else words[: most - 3] + "..."
