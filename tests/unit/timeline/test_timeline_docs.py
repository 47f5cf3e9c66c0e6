"""The examples of docs/timelines.md do what it says."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "docs" / "timelines.md").read_text()


def test_the_examples(tmp_path: Path) -> None:
    for name in ("platforms", "traces"):
        (tmp_path / name).symlink_to(ROOT / name)
    for block in re.findall(r"```console\n(.*?)```", TEXT, re.S):
        line, expected = block.split("\n", 1)
        program, *arguments = shlex.split(line.removeprefix("$ "))
        command = [sys.executable, "-m", "tisim"] if program == "tisim" else [program]
        run = subprocess.run([*command, *arguments], cwd=tmp_path, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        checker = doctest.OutputChecker()
        assert checker.check_output(expected, run.stdout, doctest.ELLIPSIS), run.stdout
    assert sorted(path.name for path in tmp_path.glob("run.*")) == [
        "run.csv",
        "run.messages.csv",
        "run.perfetto-trace",
    ]
    command = [sys.executable, "-m", "tisim", "replay", "--platform", "platforms/graphene.xml"]
    command += ["--timeline", "run.timed.csv", "traces/ring.4"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    (python,) = re.findall(r"```python\n(.*?)```", TEXT, re.S)
    test = doctest.DocTestParser().get_doctest(python, {}, "docs/timelines.md", None, 0)
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        assert doctest.DocTestRunner().run(test).failed == 0
    finally:
        os.chdir(before)


def test_every_suffix_is_explained() -> None:
    from tisim.analysis.timeline.formats import SUFFIXES

    assert all(f"| `{suffix}` |" in TEXT for suffix in SUFFIXES)
