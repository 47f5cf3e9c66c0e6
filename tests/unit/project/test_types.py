"""Types of the package are complete, and what users build on stays (docs/stability.md)."""

from __future__ import annotations

import ast
import re
import tomllib

from tests.support import ROOT
from tests.unit.project import import_graph
from tests.unit.project.import_graph import PACKAGE
from tests.unit.project.public_names import DOCUMENTED, STABLE, STORED, public_names
from tisim.analysis.result_json import COLUMNS, RankRow

# How often a file may say `Any`. A new entry needs a library that leaves no other type; the
# numbers only fall.
LEFT: dict[str, int] = {}


def uses_of_any(source: str) -> int:
    """How often a source says `Any` as a type, in quotes or not; imports do not count."""
    count = 0
    for node in ast.walk(import_graph.parsed(source)):
        match node:
            case ast.Name(id="Any") | ast.Attribute(attr="Any"):
                count += 1
            case ast.Constant(value=str(text)) if "Any" in text:
                try:
                    quoted = ast.unparse(ast.parse(text, mode="eval"))
                except (SyntaxError, ValueError):
                    continue  # prose
                count += uses_of_any(quoted) if quoted != repr(text) else 0
    return count


def test_uses_of_any_are_found() -> None:
    source = '''
from typing import Any
import typing
def f(x: Any, y: "dict[str, Any]") -> typing.Any:
    """Any sentence."""
    return cast("Any", AnyOther("Any other"))
'''
    assert uses_of_any(source) == 4


def test_types_are_precise() -> None:
    found = {}
    for path in import_graph.python_files():
        if count := uses_of_any(path.read_text(encoding="utf-8")):
            found[str(path.relative_to(PACKAGE))] = count
    assert found == LEFT


def test_rows_of_results_have_the_columns() -> None:
    assert tuple(RankRow.__annotations__) == COLUMNS


def test_no_public_name_or_parameter_is_lost() -> None:
    """If one is to go, or a default to change, docs/stability.md says how.

    Then ``python -m tests.unit.project.public_names`` stores the names anew.
    """
    assert sorted(set(STORED.read_text().splitlines()) - set(public_names())) == []


def test_what_is_public_is_said_to_be() -> None:
    """A module with an ``__all__`` is in one of the two lists, and docs/stability.md has both."""
    modules = (ROOT / "tisim").rglob("*.py")
    public = [path for path in modules if "\n__all__ = " in path.read_text()]
    names = {".".join(path.relative_to(ROOT).parent.parts) for path in public}
    assert {path.name for path in public} == {"__init__.py"}
    assert names == {*STABLE, *DOCUMENTED}
    rows = (ROOT / "docs" / "stability.md").read_text().splitlines()
    for packages, beginning in ((STABLE, "| Python: "), (DOCUMENTED, "| Python, which may change")):
        (row,) = [line for line in rows if line.startswith(beginning)]
        assert re.findall(r"`(tisim[\w.]*)`", row) == [*packages]


def test_messages_about_missing_packages_name_an_extra() -> None:
    """Whoever lacks a package is told the extra of pyproject.toml that has it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for path in (ROOT / "tisim").rglob("*.py"):
        for asked in re.findall(r"pip install ['\"]?(\w[^\s'\",]*)", path.read_text()):
            extra = asked.removeprefix("tisim[").rstrip("]")
            assert extra in {*project["optional-dependencies"], "{extra}"}, f"{path}: {asked}"
