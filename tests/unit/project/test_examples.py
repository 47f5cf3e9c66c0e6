"""The examples, and those in docstrings, work as described."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.support import ROOT
from tisim.actions.registry import default_registry

EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize("expected", sorted(EXAMPLES.glob("expected/*.txt")), ids=lambda p: p.stem)
def test_example(expected: Path) -> None:
    script = EXAMPLES / f"{expected.stem}.py"
    run = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == expected.read_text()


def test_every_script_has_its_expected_output() -> None:
    scripts = {path.stem for path in EXAMPLES.glob("*.py")}
    assert scripts == {path.stem for path in EXAMPLES.glob("expected/*.txt")}


def modules_with_examples() -> list[str]:
    return [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in sorted((ROOT / "tisim").rglob("*.py"))
        if ">>>" in path.read_text()
    ]


@pytest.mark.parametrize("name", modules_with_examples())
def test_docstrings(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(default_registry, "_actions", {})
    monkeypatch.setattr(default_registry, "_collectives", {})
    module: Any = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    examples = 0
    for test in doctest.DocTestFinder().find(module, extraglobs={"tisim": tisim}):
        examples += len(test.examples)
        runner.run(test)
    assert examples
    assert runner.failures == 0
