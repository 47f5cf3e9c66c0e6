"""What users build on stays as it is (docs/stability.md); more may come."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tests.unit.project.public_names import DOCUMENTED, STABLE, STORED, public_names

ROOT = Path(__file__).resolve().parents[3]


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
