"""The examples of docs/calibration.md run and print what it says."""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from tisim.commands.benchmark import benchmark_command
from tisim.commands.calibrate import calibrate_command

COMMANDS = {"calibrate": calibrate_command, "benchmark": benchmark_command}
TEXT = (Path(__file__).resolve().parents[3] / "docs" / "calibration.md").read_text()
CONSOLE = re.findall(r"```console\n(.*?)```", TEXT, re.S)
PYTHON = re.findall(r"```python\n(.*?)```", TEXT, re.S)


@pytest.fixture
def examples(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of the examples as the working directory."""
    shutil.copytree(root / "examples" / "calibration", tmp_path / "examples")
    monkeypatch.chdir(tmp_path / "examples")


@pytest.mark.usefixtures("examples")
@pytest.mark.parametrize("block", CONSOLE, ids=lambda block: block.split("\n")[0][2:50])
def test_a_console_example(block: str) -> None:
    command, expected = block.split("\n", 1)
    program, name, *arguments = shlex.split(command.removeprefix("$ "))
    assert program == "tisim"
    result = CliRunner().invoke(COMMANDS[name], arguments, prog_name=f"tisim {name}")
    assert result.exit_code == 0, result.output
    same = doctest.OutputChecker().check_output(expected, result.stdout, doctest.ELLIPSIS)
    assert same, result.output


@pytest.mark.usefixtures("examples")
@pytest.mark.parametrize("block", PYTHON)
def test_a_python_example(block: str) -> None:
    test = doctest.DocTestParser().get_doctest(block, {}, "docs/calibration.md", None, 0)
    failures: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=failures.append)
    assert failures == []


def test_there_are_examples() -> None:
    assert len(CONSOLE) == 4
    assert len(PYTHON) == 1
