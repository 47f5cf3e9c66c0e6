"""HTML pages in one file: tables and other elements, style, and one script made of modules."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape, unescape
from importlib import resources

from tisim.analysis.pictures.colours import COLOURS, MEANINGS


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    texts: int = 1,
    looks: Sequence[str] | None = None,
) -> str:
    """Return a table of HTML cells; the first `texts` columns are texts, the others numbers.

    `looks`: for each row, the part of the chart that a click shows, as ``begin,end,rank``.
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
    """Return a table of names and values."""
    body = "".join(
        f'<tr><td class="text">{escape(name)}</td><td class="text wrap">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f'<table class="facts">{body}</table>'


def bar(parts: Mapping[str, float], whole: float, *, small: bool = False) -> str:
    """Return the seconds of states as a bar whose length represents `whole` seconds."""
    pieces = "".join(
        f'<i style="width:{100 * seconds / whole:.3f}%;background:{COLOURS[state]}" '
        f'title="{state}: {seconds / whole:.2%}"></i>'
        for state, seconds in parts.items()
        if whole > 0 and seconds > 0
    )
    return f'<span class="bar{" small" if small else ""}">{pieces}</span>'


def legend(shares: Mapping[str, float]) -> str:
    """Return the colours of states, with their meanings and their shares of all time."""
    items = "".join(
        f'<li title="{escape(MEANINGS[state])}"><span class="swatch" '
        f'style="background:{COLOURS[state]}"></span>{escape(state)} {share:.1%}</li>'
        for state, share in shares.items()
    )
    return f'<ul class="legend">{items}</ul>'


def percent(share: float) -> str:
    """Return a share in percent, or "" if it is 0."""
    return f"{share:.1%}" if share else ""


# Import and export statements of the page's modules: at the start of a line.
_IMPORT = re.compile(r'^import \{\s+([^}]+?),?\s+\} from "\./([\w-]+\.js)";\n', re.M)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.M)
_UNSUPPORTED_STATEMENT = re.compile(r"^(?:import|export)\b.*", re.M)


def page_file(name: str) -> str:
    """Return a file of the pages of the report and the viewer, which share most of them."""
    return (resources.files("tisim") / "analysis" / "page" / name).read_text(encoding="utf-8")


def page_style(*names: str) -> str:
    """Return the style of a page: the shared theme, and its own files."""
    return page_file("theme.css") + "".join(map(page_file, names))


def page_modules(main: str) -> dict[str, str]:
    """Return the text of a module and of its imports, by name; imported modules come first."""
    found: dict[str, str] = {}

    def add(name: str) -> None:
        if name in found:
            return
        text = page_file(name)
        found[name] = ""  # ends circular imports
        for _, other in _IMPORT.findall(text):
            add(other)
        del found[name]
        found[name] = text

    add(main)
    return found


def page_script(main: str) -> str:
    """Return one script made of a module and its imports, each as a function."""
    functions = [_as_function(name, text) for name, text in page_modules(main).items()]
    return '"use strict";\nconst modules = {};\n' + "\n".join(functions)


def _as_function(name: str, text: str) -> str:
    """Return a module as a function that binds its imports and returns its exports."""
    exported = ", ".join(_EXPORT.findall(text))
    body = _EXPORT.sub("", _IMPORT.sub(_as_destructuring, text))
    rest = _UNSUPPORTED_STATEMENT.search(body)
    if rest is not None:
        raise ValueError(f"{name}: {rest[0]!r} is not a form that pages may have")
    return f'modules["{name}"] = (() => {{\n{body}return {{ {exported} }};\n}})();\n'


def _as_destructuring(found: re.Match[str]) -> str:
    names = found[1].replace(" as ", ": ")
    return f'const {{ {names} }} = modules["{found[2]}"];\n'


_STYLED = re.compile(r' style="([^"]*)"')
_EMBEDDED = re.compile(r"<(style|script)>(.*?)</\1>", re.S)


def with_security_policy(page: str) -> str:
    """Add a content security policy that allows the page's own styles and scripts, by hashes.

    Attributes ``style``, which no hash can allow, are converted to rules of a style sheet.
    """
    rules: dict[str, int] = {}
    page = _STYLED.sub(
        lambda match: f' data-style="{rules.setdefault(match[1], len(rules))}"', page
    )
    if rules:
        sheet = "\n".join(
            f'[data-style="{number}"]{{{unescape(rule)}}}' for rule, number in rules.items()
        )
        page = page.replace("</head>", f"<style>{sheet}</style>\n</head>", 1)
    hashes: dict[str, list[str]] = {"style": [], "script": []}
    for kind, text in _EMBEDDED.findall(page):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        hashes[kind].append(f" 'sha256-{digest}'")
    allowed = "; ".join(f"{kind}-src{''.join(listed)}" for kind, listed in hashes.items() if listed)
    policy = f"default-src 'none'; {allowed}; img-src data:; base-uri 'none'; form-action 'none'"
    head = '<meta charset="utf-8">\n'
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    return page.replace(head, head + meta, 1)


def static_page(title: str, sections: Sequence[tuple[str, str]]) -> str:
    """Return a self-contained page of sections (heading and HTML) with sortable tables."""
    body = "\n".join(
        f"<section>\n<h2>{escape(heading)}</h2>\n{content}\n</section>"
        for heading, content in sections
    )
    return with_security_policy(f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>
{page_style("report.css")}</style>
</head>
<body>
<header><h1>{escape(title)}</h1></header>
<main>
{body}
</main>
<script>
{page_script("tables.js")}
modules["tables.js"].wireTables(() => {{}});
</script>
</body>
</html>
""")


def figure(chart: str, caption: str) -> str:
    """Return a chart with its caption, which is plain text."""
    return f"<figure>{chart}<figcaption>{escape(caption)}</figcaption></figure>"


def figures(parts: Sequence[str]) -> str:
    """Return figures side by side, if there is room."""
    return f'<div class="plots">{"".join(parts)}</div>'


def listed(sentences: Iterable[str]) -> str:
    """Return sentences of HTML as a list."""
    return f'<ul class="said">{"".join(f"<li>{sentence}</li>" for sentence in sentences)}</ul>'


def listed_text(sentences: Iterable[str]) -> str:
    """Return sentences of plain text as a list."""
    return listed(map(escape, sentences))


def rest(count: int, shown: int, where: str = "the Python interface has") -> str:
    """Return the number of rows that a table omits, and where they are; "" if none."""
    if count <= shown:
        return ""
    return f'<p class="note">and {count - shown:,} more, which {where}.</p>'


def numbers(facts: Sequence[tuple[str, str]]) -> str:
    """Return large numbers with their labels."""
    items = "".join(
        f"<div><b>{escape(value)}</b><span>{escape(name)}</span></div>" for name, value in facts
    )
    return f'<div class="numbers">{items}</div>'
