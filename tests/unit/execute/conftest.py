"""Shared fixtures of the tests of executions."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run executions, which create files, in the directory of the test."""
    monkeypatch.chdir(tmp_path)
