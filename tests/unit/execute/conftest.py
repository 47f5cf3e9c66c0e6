"""What the tests of executions share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Executions make their files in the directory of the test."""
    monkeypatch.chdir(tmp_path)
