"""The package says precisely what its functions take and return."""

from __future__ import annotations

import ast

from tests.unit.project import import_graph
from tests.unit.project.import_graph import PACKAGE
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
