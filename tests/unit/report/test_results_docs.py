"""The examples of docs/results.md run and print what it says; its pictures are drawn again."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.campaign import campaign
from tests.unit.command_line import ROOT, CommandLine
from tisim.analysis.timeline.columns import STATES

TEXT = (ROOT / "docs" / "results.md").read_text()
CONSOLE = re.findall(r"```console\n\$ (.*?)\n(.*?)```", TEXT, re.S)
INDENTED = re.findall(r"^    (tisim .*)$", TEXT, re.M)
PYTHON = re.findall(r"```python\n(.*?)```", TEXT, re.S)
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture(autouse=True)
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory that looks like the root."""
    for name in ("traces", "platforms"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = CommandLine(tmp_path, capsys)
    assert (len(CONSOLE), len(INDENTED)) == (3, 5)
    for command, expected in CONSOLE:
        outcome = run(*shlex.split(command)[1:])
        assert outcome.status == 0
        assert doctest.OutputChecker().check_output(expected, outcome.out, SAME), outcome.out
    for command in INDENTED:
        outcome = run(*shlex.split(command)[1:])
        assert outcome.status == 0
        assert all(line.startswith("tisim: wrote ") for line in outcome.err.splitlines())
    assert "ranks are in state overhead" in outcome.out
    for name in ("lu.svg", "lu.html"):
        assert (tmp_path / name).stat().st_size < 500_000


def test_python() -> None:
    names: dict[str, object] = {}
    exec("import tisim", names)
    test = doctest.DocTestParser().get_doctest("\n".join(PYTHON), names, "results.md", None, 0)
    failures: list[str] = []
    doctest.DocTestRunner(optionflags=SAME).run(test, out=failures.append)
    assert failures == []


def test_every_state_is_explained() -> None:
    for state in STATES:
        assert f"`{state}`" in TEXT


@pytest.mark.skipif(not campaign(0, 1), reason="takes long; `make nightly` runs it")
def test_pictures_are_drawn_again(tmp_path: Path) -> None:
    script = ROOT / "docs" / "pictures" / "results.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True, timeout=300)
    for name in ("lu-gantt.svg", "lu-gantt-part.svg"):
        assert (tmp_path / name).read_text().startswith("<?xml")
        assert f"(pictures/{name})" in TEXT
