"""The command line, run in the directory of a test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine


@pytest.fixture
def tisim(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(tmp_path, capsys)
