"""Writes the tables of the configuration page: ``python -m tisim.config.page FILE``.

The part of the page between two marks is replaced; the prose around it stays.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tisim.config.kinds import FACTORS, Value
from tisim.config.parameter import Parameter
from tisim.config.table import PARAMETERS

BEGIN: Final = "<!-- Made from tisim/config/table.py by `python -m tisim.config.page`. -->"
END: Final = "<!-- End of what is made. -->"
_HEAD: Final = ("| option | value | default | in a replay |", "|---|---|---|---|")
_WIDTH: Final = 100


def tables() -> str:
    """The tables of all parameters, in Markdown."""
    sections: dict[str, dict[str, list[Parameter[Value]]]] = {}
    for parameter in PARAMETERS.values():
        if parameter.doc:
            rows = sections.setdefault(parameter.section, {})
            rows.setdefault(parameter.group or parameter.key, []).append(parameter)
    parts = []
    for heading, rows in sections.items():
        lines = [
            f"## {heading}",
            "",
            "| option | value | default | in a replay |",
            "|---|---|---|---|",
        ]
        lines += [_line(name, group) for name, group in rows.items()]
        parts.append("\n".join(lines))
    names = [f"`{p.key}`" for p in PARAMETERS.values() if not p.used and not p.doc]
    listed = textwrap.fill(
        ", ".join(names) + ".", _WIDTH, break_on_hyphens=False, break_long_words=False
    )
    parts.append(
        "## What no replay uses\n\n"
        "These options are accepted and ignored, because they control how SimGrid executes,\n"
        f"debugs, traces or verifies programs, or concern disks and virtual machines:\n\n{listed}"
    )
    return "\n\n".join(parts)


def _line(name: str, group: list[Parameter[Value]]) -> str:
    first = group[0]
    names = ", ".join(f"`{key}`" for key in name.split(", "))
    if first.smpi_key:
        names += f" = `{first.smpi_key}`"
    unit = first.unit or first.kind.unit
    value = first.kind.name + (f", {unit}" if unit else "")
    return f"| {names} | {value} | {_default(first)} | {first.doc} |"


def _default(parameter: Parameter[Value]) -> str:
    if parameter.kind is FACTORS:
        return "by model"
    others: dict[str, list[str]] = {}
    for model, value in parameter.by_model.items():
        others.setdefault(value, []).append(model)
    models = "; ".join(f"{', '.join(names)}: {value}" for value, names in others.items())
    default = f"`{parameter.default}`" if parameter.default else ""
    return f"{default} ({models})" if models else default


def page_with_tables(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a page, its tables made anew.

    Raises `ValueError` if the page lacks one of the two marks.
    """
    before, inside, after = [], False, False
    for line in lines:
        if line == END:
            inside, after = False, True
        if not inside:
            before.append(line)
        if line == BEGIN:
            inside = True
            before += ["", *tables().splitlines(), ""]
    if inside or not after:
        raise ValueError(f"the page has no lines {BEGIN!r} and {END!r}")
    yield from before


def main() -> None:
    """Make the tables of the page that the command line names anew."""
    path = Path(sys.argv[1])
    path.write_text("\n".join(page_with_tables(path.read_text().splitlines())) + "\n")


if __name__ == "__main__":
    main()
