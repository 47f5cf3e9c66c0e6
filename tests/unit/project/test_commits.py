"""Subjects of commits are short and imperative; the hook that says so works."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.project.import_graph import ROOT

HOOK = ROOT / ".githooks" / "commit-msg"
PROBLEM = runpy.run_path(str(HOOK))["problem"]
#: Commits that are checked; the rule is younger than the first ones.
COMMITS = 20


def git(*arguments: str) -> str:
    run = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return run.stdout.strip() if run.returncode == 0 else ""


def test_the_last_subjects_follow_the_rule() -> None:
    introduced = git("log", "--diff-filter=A", "--format=%H", "--", ".githooks/commit-msg")
    if not introduced:
        pytest.skip("there is no history of git here")
    subjects = git("log", f"-{COMMITS}", "--format=%s", f"{introduced.splitlines()[-1]}..HEAD")
    assert {s: PROBLEM(s) for s in subjects.splitlines() if PROBLEM(s)} == {}


@pytest.mark.parametrize(
    ("subject", "part"),
    [
        ("Merge the two passes over a component in the solver", None),
        ("Seed the campaign with the date", None),
        ("Process traces of one rank", None),
        ("Revert " + "x" * 80, None),
        ("Say " + "x" * 69, "73 characters"),
        ("Added a selector", "not imperative"),
        ("Adding a selector", "not imperative"),
        ("Adds a selector", "not imperative"),
        ("Add a selector.", "full stop"),
        ("solver: merge two passes", "capitalised verb"),
        ("Solver: merge two passes", "capitalised verb"),
    ],
)
def test_subjects_that_the_hook_refuses(subject: str, part: str | None) -> None:
    problem = PROBLEM(subject)
    assert problem is None if part is None else part in problem


def test_the_hook_reads_the_message_of_a_file(tmp_path: Path) -> None:
    message = tmp_path / "COMMIT_EDITMSG"
    for text, status in [
        ("Add a selector\n\nIt is MVAPICH's.\n# On branch main\n", 0),
        ("Add a selector\nIt is MVAPICH's.\n", 1),
        ("Added a selector\n", 1),
    ]:
        message.write_text(text)
        run = subprocess.run([sys.executable, HOOK, message], capture_output=True, text=True)
        assert run.returncode == status, run.stderr
