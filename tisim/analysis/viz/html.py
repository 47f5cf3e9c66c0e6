"""Pieces of HTML: tables, bars, legends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from tisim.analysis.viz.colours import COLOURS, MEANINGS


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    texts: int = 1,
    looks: Sequence[str] | None = None,
) -> str:
    """A table of cells that are HTML; the first `texts` columns are texts, the others numbers.

    `looks`: of each row the part of the chart that a click shows, as ``begin,end,rank``.
    """
    listed = list(rows)
    if not listed:
        return '<p class="note">Nothing.</p>'

    def line(tag: str, cells: Sequence[str], look: str = "") -> str:
        made = (
            f'<{tag} class="text">{cell}</{tag}>' if place < texts else f"<{tag}>{cell}</{tag}>"
            for place, cell in enumerate(cells)
        )
        shown = f' data-look="{look}"' if look else ""
        return f"<tr{shown}>{''.join(made)}</tr>"

    places = looks if looks is not None else [""] * len(listed)
    body = "\n".join(line("td", *row) for row in zip(listed, places, strict=True))
    top = line("th", [escape(name) for name in head])
    return f'<div class="scroll"><table><thead>{top}</thead><tbody>\n{body}\n</tbody></table></div>'


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values."""
    body = "".join(
        f'<tr><td class="text">{escape(name)}</td><td class="text wrap">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f'<table class="facts">{body}</table>'


def bar(parts: Mapping[str, float], whole: float, *, small: bool = False) -> str:
    """The seconds of states as a bar whose whole length is `whole` seconds."""
    pieces = "".join(
        f'<i style="width:{100 * seconds / whole:.3f}%;background:{COLOURS[state]}" '
        f'title="{state}: {seconds / whole:.2%}"></i>'
        for state, seconds in parts.items()
        if whole > 0 and seconds > 0
    )
    return f'<span class="bar{" small" if small else ""}">{pieces}</span>'


def legend(shares: Mapping[str, float]) -> str:
    """The colours of states, with what they mean and their shares of all time."""
    items = "".join(
        f'<li title="{escape(MEANINGS[state])}"><span class="swatch" '
        f'style="background:{COLOURS[state]}"></span>{escape(state)} {share:.1%}</li>'
        for state, share in shares.items()
    )
    return f'<ul class="legend">{items}</ul>'


def percent(share: float) -> str:
    """A share, or nothing."""
    return f"{share:.1%}" if share else ""
