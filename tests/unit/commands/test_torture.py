"""Random hostile calls of all commands; ``make torture CASES=10000`` runs more of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.campaign import campaign

ROOT = Path(__file__).resolve().parents[3]


def test_random_hostile_calls_end_with_one_message(tmp_path: Path) -> None:
    words = ["--cases", str(campaign(300, 10_000)), "--seed", "1", "--keep", str(tmp_path)]
    run = subprocess.run(
        [sys.executable, "-m", "tests.torture.campaign", *words],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-10_000:]
