"""Random hostile calls of all commands; ``make torture CASES=10000`` runs more of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.campaign import campaign

ROOT = Path(__file__).resolve().parents[3]


def test_random_hostile_calls_end_with_one_message(tmp_path: Path) -> None:
    run("campaign", "--cases", str(campaign(60, 10_000)), "--keep", str(tmp_path), room=tmp_path)


def test_kills_leave_the_old_file_or_the_whole_new_one(tmp_path: Path) -> None:
    """At most the scenario that was running is lost of a sweep."""
    run("kills", "--kills", str(campaign(4, 500)), room=tmp_path)


def run(module: str, *words: str, room: Path) -> None:
    """Run a campaign, which finds nothing."""
    ended = subprocess.run(
        [sys.executable, "-m", f"tests.torture.{module}", *words],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(room)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, (ended.stdout + ended.stderr)[-10_000:]
