"""The benchmark's source can be written, and compiled where there is an MPI library."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine


def test_print_and_print_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tisim = CommandLine(tmp_path, capsys)
    printed = tisim("benchmark", "--print")
    assert printed.status == 0
    assert tisim("benchmark", "--print-source", "source").status == 0
    assert (tmp_path / "source" / "benchmark.c").read_text() == printed.out
    assert "mpicc -O2 *.c -o benchmark -lm" in (tmp_path / "source" / "README").read_text()
