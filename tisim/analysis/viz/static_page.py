"""Pages of charts and tables that need no data of their own: reports on sweeps and comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tisim.analysis.viz.modules import page_script, page_style

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def static_page(title: str, sections: Sequence[tuple[str, str]]) -> str:
    """One self-contained page. Its tables are sorted by a click on a column.

    Parameters
    ----------
    title
        Of the page.
    sections
        Heading and HTML of each part.
    """
    body = "\n".join(
        f"<section>\n<h2>{escape(heading)}</h2>\n{content}\n</section>"
        for heading, content in sections
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>
{page_style("style.css", "charts.css")}</style>
</head>
<body>
<header><h1>{escape(title)}</h1></header>
<main>
{body}
</main>
<script>
{page_script("static.js")}
</script>
</body>
</html>
"""


def figure(chart: str, caption: str) -> str:
    """A chart with its caption, which is plain text."""
    return f"<figure>{chart}<figcaption>{escape(caption)}</figcaption></figure>"


def figures(parts: Sequence[str]) -> str:
    """Figures side by side, where there is room."""
    return f'<div class="plots">{"".join(parts)}</div>'


def said(sentences: Sequence[str]) -> str:
    """Sentences as a list."""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f'<ul class="said">{items}</ul>'


def numbers(facts: Sequence[tuple[str, str]]) -> str:
    """Large numbers, each with what it is."""
    items = "".join(
        f"<div><b>{escape(value)}</b><span>{escape(name)}</span></div>" for name, value in facts
    )
    return f'<div class="numbers">{items}</div>'
