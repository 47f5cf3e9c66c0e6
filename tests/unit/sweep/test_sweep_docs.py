"""The examples of docs/sweeps.md run and print what it says."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.unit.sweep.samples import ROOT
from tisim.commands.cli import tisim

TEXT = (ROOT / "docs" / "sweeps.md").read_text()
CONSOLE = re.findall(r"```console\n(.*?)```", TEXT, re.S)
PYTHON = re.findall(r"```python\n(.*?)```", TEXT, re.S)


@pytest.fixture(autouse=True)
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory that looks like the root."""
    for name in ("traces", "platforms", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)


def commands(block: str) -> list[tuple[list[str], str]]:
    """The commands of a block with the output that stands behind each."""
    parts = re.split(r"^\$ ", block, flags=re.M)[1:]
    return [(shlex.split(part.split("\n", 1)[0])[1:], part.split("\n", 1)[1]) for part in parts]


@pytest.mark.parametrize("block", CONSOLE, ids=lambda block: block.split("\n")[0][2:50])
def test_a_console_example(block: str) -> None:
    for arguments, expected in commands(block):
        result = CliRunner().invoke(tisim, arguments)
        assert result.exit_code == 0, result.output
        if expected:
            same = doctest.OutputChecker().check_output(
                expected, result.stdout, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            )
            assert same, result.output


@pytest.mark.parametrize("block", PYTHON)
def test_a_python_example(block: str) -> None:
    names: dict[str, object] = {}
    exec("import tisim", names)
    test = doctest.DocTestParser().get_doctest(block, names, "docs/sweeps.md", None, 0)
    failures: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=failures.append)
    assert failures == []


def test_every_column_is_explained() -> None:
    from tisim.studies.sweep.scenario import OUTCOMES

    for name in (*OUTCOMES, "ratio", "baseline_time", "key"):
        assert f"`{name}`" in TEXT


def test_there_are_examples() -> None:
    assert len(CONSOLE) == 2
    assert len(PYTHON) == 4
