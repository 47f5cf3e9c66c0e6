"""Shared fixtures of the tests of sweeps."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest


@pytest.fixture(autouse=True)
def forget_registered_functions(restored_registry: None) -> None:
    """Undo registrations by modules of a test."""


@pytest.fixture
def make_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Return a function that writes a module for workers to import, and returns its name."""
    monkeypatch.syspath_prepend(str(tmp_path))
    made: list[str] = []

    def make(name: str, source: str) -> str:
        (tmp_path / f"{name}.py").write_text(source)
        importlib.invalidate_caches()
        made.append(name)
        return name

    yield make
    for name in made:
        sys.modules.pop(name, None)


def write_trace(directory: Path, lines: str) -> Path:
    """Write a trace of one file."""
    file = directory / "trace.txt"
    file.write_text(lines)
    return file


def same(a: pd.DataFrame, b: pd.DataFrame) -> bool:
    """Return whether two frames are equal except for machine-dependent columns."""
    pd.testing.assert_frame_equal(a.drop(columns="wall_time"), b.drop(columns="wall_time"))
    return True
